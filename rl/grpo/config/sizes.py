"""Sizes of a training on CPU that follow those of its policy, so that it needs no more memory than intended.

There is no such estimate for GPUs: there verl and vLLM measure what is free.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

ACTIVATIONS = 3 * 2**30
"""Bytes for what the backward pass of one micro-batch needs, besides logits."""
CACHE = 2 * 2**30
"""Bytes for the keys and values of the rollout engine."""
_FP32 = 4
_TOKENS, _SEQUENCES = 16_384, 64
"""The most tokens of a micro-batch and conversations at a time, if a profile says nothing."""


def head_width(text: Any) -> int:
    """The width of an attention head, from the configuration of a text model."""
    return int(getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads)


def fitted(model: Any, length: int, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of verl's configuration below ``actor_rollout_ref`` that fit the policy's sizes.

    Args:
        model: The configuration of the policy, a ``transformers.PreTrainedConfig`` of a dense decoder.
        length: Maximum tokens of a conversation; a micro-batch has at least so many.
        declared: The profile's keys below ``actor_rollout_ref``, which are not exceeded.
    """
    text = model.get_text_config()
    hidden, layers = text.hidden_size, text.num_hidden_layers
    kv_heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    inner = getattr(text, "intermediate_size", None) or 4 * hidden
    # Bytes that the backward pass of one block keeps for each token, measured with a model like Llama's.
    block = _FP32 * (5 * hidden + 3 * inner)
    keys_and_values = _FP32 * 2 * layers * kv_heads * head_width(text)
    kept = layers * block
    recompute = length * kept > ACTIVATIONS
    if recompute:  # only the inputs of all blocks are kept, and the activations of one
        kept = layers * _FP32 * hidden + block
    actor, rollout = declared.get("actor", {}), declared.get("rollout", {})
    tokens = min(int(actor.get("ppo_max_token_len_per_gpu", _TOKENS)), ACTIVATIONS // kept)
    sequences = min(int(rollout.get("max_num_seqs", _SEQUENCES)), CACHE // (keys_and_values * length))
    bucket = int(rollout.get("checkpoint_engine", {}).get("update_weights_bucket_megabytes", 0))
    largest = math.ceil(_FP32 * text.vocab_size * hidden / 2**20)
    return {
        "model": {"enable_gradient_checkpointing": recompute},
        "actor": {"ppo_max_token_len_per_gpu": max(length, tokens)},
        "rollout": {
            "max_num_seqs": max(1, sequences),
            # vLLM gets the weights in buckets, of which one has to hold the largest of them.
            "checkpoint_engine": {"update_weights_bucket_megabytes": max(bucket, largest)},
        },
    }
