"""Sizes of a training on CPU that follow those of its policy, so that it needs no more memory than intended.

There is no such estimate for GPUs: there verl and vLLM measure what is free.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ACTIVATIONS = 3 * 2**30
"""Bytes for what the backward pass of one micro-batch needs, besides logits."""
CACHE = 2 * 2**30
"""Bytes for the keys and values of the rollout engine."""
_FP32 = 4
_TOKENS, _SEQUENCES = 16_384, 64
"""The most tokens of a micro-batch and conversations at a time, if a profile says nothing."""


@dataclass(frozen=True)
class Shape:
    """The sizes of a dense decoder.

    Attributes:
        hidden: Width of the residual stream.
        layers: Number of blocks.
        kv_heads: Number of key and value heads.
        head: Width of a head.
        inner: Inner width of the feed-forward layers.
        vocabulary: Number of tokens.
    """

    hidden: int
    layers: int
    kv_heads: int
    head: int
    inner: int
    vocabulary: int

    @property
    def layer_bytes(self) -> int:
        """Bytes that the backward pass of one block keeps for each token, measured with a model like Llama's."""
        return _FP32 * (5 * self.hidden + 3 * self.inner)

    @property
    def cache_bytes(self) -> int:
        """Bytes of one token's keys and values."""
        return _FP32 * 2 * self.layers * self.kv_heads * self.head


def shape_of(policy: str) -> Shape | None:
    """The sizes of a policy from ``config.json`` in its folder; ``None`` if they are unknown."""
    path = Path(policy) / "config.json"
    if not path.is_file():
        return None
    read = json.loads(path.read_text(encoding="utf-8"))
    try:
        return _shape(read.get("text_config", read))
    except (KeyError, TypeError, ValueError):
        return None


def _shape(config: Mapping[str, Any]) -> Shape:
    heads, hidden = int(config["num_attention_heads"]), int(config["hidden_size"])
    return Shape(
        hidden=hidden,
        layers=int(config["num_hidden_layers"]),
        kv_heads=int(config.get("num_key_value_heads") or heads),
        head=int(config.get("head_dim") or hidden // heads),
        inner=int(config["intermediate_size"]),
        vocabulary=int(config["vocab_size"]),
    )


def fitted(shape: Shape, length: int, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of verl's configuration below ``actor_rollout_ref`` that fit the policy's sizes.

    Args:
        shape: The sizes of the policy.
        length: Maximum tokens of a conversation; a micro-batch has at least so many.
        declared: The profile's keys below ``actor_rollout_ref``, which are not exceeded.
    """
    kept = shape.layers * shape.layer_bytes
    recompute = length * kept > ACTIVATIONS
    if recompute:  # only the inputs of all blocks are kept, and the activations of one
        kept = shape.layers * _FP32 * shape.hidden + shape.layer_bytes
    actor, rollout = declared.get("actor", {}), declared.get("rollout", {})
    tokens = min(int(actor.get("ppo_max_token_len_per_gpu", _TOKENS)), ACTIVATIONS // kept)
    sequences = min(int(rollout.get("max_num_seqs", _SEQUENCES)), CACHE // (shape.cache_bytes * length))
    bucket = int(rollout.get("checkpoint_engine", {}).get("update_weights_bucket_megabytes", 0))
    largest = math.ceil(_FP32 * shape.vocabulary * shape.hidden / 2**20)
    return {
        "model": {"enable_gradient_checkpointing": recompute},
        "actor": {"ppo_max_token_len_per_gpu": max(length, tokens)},
        "rollout": {
            "max_num_seqs": max(1, sequences),
            # vLLM gets the weights in buckets, of which one has to hold the largest of them.
            "checkpoint_engine": {"update_weights_bucket_megabytes": max(bucket, largest)},
        },
    }
