"""Estimates GPU memory of a training by formula: weights, gradients, optimizer, activations, KV cache."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GIB = float(2**30)
_BF16, _FP32 = 2, 4

KNOWN: dict[str, dict[str, Any]] = {
    name: {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "intermediate_size": inner,
        "vocab_size": 151_936,
        "tie_word_embeddings": tied,
    }
    for name, hidden, layers, heads, inner, tied in (
        ("qwen3-0.6b", 1024, 28, 16, 3072, True),
        ("qwen3-1.7b", 2048, 28, 16, 6144, True),
        ("qwen3-4b", 2560, 36, 32, 9728, True),
        ("qwen3-8b", 4096, 36, 32, 12_288, False),
        ("qwen3-14b", 5120, 40, 40, 17_408, False),
        ("qwen3-32b", 5120, 64, 64, 25_600, False),
    )
}
"""Shapes of common models, for plans on a machine without the models' files."""


@dataclass(frozen=True)
class Shape:
    """The sizes of a dense decoder.

    Attributes:
        hidden: Width of the residual stream.
        layers: Number of blocks.
        heads: Number of attention heads.
        kv_heads: Number of key and value heads.
        head: Width of a head.
        inner: Inner width of the feed-forward layers.
        vocabulary: Number of tokens.
        tied: Whether input and output embeddings share their weights.
    """

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head: int
    inner: int
    vocabulary: int
    tied: bool

    @property
    def layer_parameters(self) -> int:
        """Number of parameters of one block: attention and a gated feed-forward layer, without norms."""
        attention = 2 * self.hidden * self.head * (self.heads + self.kv_heads)
        return attention + 3 * self.hidden * self.inner

    @property
    def parameters(self) -> int:
        """Number of parameters of the model."""
        return self.layers * self.layer_parameters + (1 if self.tied else 2) * self.vocabulary * self.hidden

    @property
    def kv_bytes(self) -> int:
        """Bytes of one token in the KV cache, in 16 bits."""
        return 2 * self.layers * self.kv_heads * self.head * _BF16


def shape_of(policy: str) -> Shape | None:
    """The sizes of a policy from ``config.json`` in its folder or from its name; ``None`` if they are unknown."""
    path = Path(policy) / "config.json"
    config: Mapping[str, Any] | None = KNOWN.get(policy.rpartition("/")[2].lower())
    if path.is_file():
        read = json.loads(path.read_text(encoding="utf-8"))
        config = read.get("text_config", read)
    try:
        return None if config is None else _shape(config)
    except (KeyError, TypeError, ValueError):
        return None


def _shape(config: Mapping[str, Any]) -> Shape:
    heads, hidden = int(config["num_attention_heads"]), int(config["hidden_size"])
    return Shape(
        hidden=hidden,
        layers=int(config["num_hidden_layers"]),
        heads=heads,
        kv_heads=int(config.get("num_key_value_heads") or heads),
        head=int(config.get("head_dim") or hidden // heads),
        inner=int(config["intermediate_size"]),
        vocabulary=int(config["vocab_size"]),
        tied=bool(config.get("tie_word_embeddings", False)),
    )


@dataclass(frozen=True)
class Memory:
    """Memory of one GPU in GiB, in the two alternating phases: training and rollout.

    Attributes:
        weights: The GPU's shard of the weights, in 32 bits.
        gradients: The GPU's shard of the gradients, in 32 bits.
        optimizer: The GPU's shard of AdamW's two moments, in 32 bits.
        gathered: Two blocks and the embeddings, gathered in 16 bits for computation.
        activations: Activations for the backward pass, with gradient checkpointing, and the logits.
        rollout_weights: The rollout engine's weights in 16 bits.
        kv_cache: Memory that remains for the KV cache.
        kv_tokens: Number of tokens that fit into the KV cache.
        optimizer_waits: Whether the optimizer is offloaded to CPU memory during rollouts.
        limit: Memory of the GPU.
        share: Share of the GPU's memory that the rollout engine may use.
    """

    weights: float
    gradients: float
    optimizer: float
    gathered: float
    activations: float
    rollout_weights: float
    kv_cache: float
    kv_tokens: int
    optimizer_waits: bool
    limit: float
    share: float

    @property
    def training(self) -> float:
        """Peak memory of training, in GiB."""
        return self.weights + self.gradients + self.optimizer + self.gathered + self.activations

    @property
    def rollout(self) -> float:
        """Peak memory of rollouts, in GiB: the trainer's state on the GPU, and the rollout engine's share."""
        left = self.weights + (0.0 if self.optimizer_waits else self.optimizer)
        return left + self.share * self.limit

    @property
    def fits(self) -> bool:
        """Whether both phases fit and memory remains for the KV cache."""
        return max(self.training, self.rollout) <= self.limit and self.kv_cache > 0


FORMULA = (
    "P parameters over N cards: weights 4P/N, gradients 4P/N, AdamW 8P/N bytes; gathered 2 x (2 blocks + embeddings); "
    "activations with gradient checkpointing 2 x T x hidden x layers + T x (16 hidden + 6 inner), logits 4 x 2,048 x "
    "vocabulary if they are computed in chunks, else 6 x T x vocabulary, for T tokens of a micro-batch; rollout 2P/TP; "
    "KV cache: the engine's share less its weights and 2 GiB, at 4 x layers x KV heads x head width bytes a token / TP"
)


def memory_of(shape: Shape, config: Any, *, limit: float) -> Memory:
    """Estimate the memory of one GPU of ``limit`` GiB for a verl configuration."""
    trainer, actor, rollout = config.trainer, config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    cards = int(trainer.nnodes) * int(trainer.n_gpus_per_node)
    parallel, share = int(rollout.tensor_model_parallel_size), float(rollout.gpu_memory_utilization)
    total, tokens = shape.parameters, int(actor.ppo_max_token_len_per_gpu)
    embeddings = shape.vocabulary * shape.hidden * (1 if shape.tied else 2)
    logits = (
        _FP32 * 2048 * shape.vocabulary if actor.entropy_from_logits_with_chunking else 6 * tokens * shape.vocabulary
    )
    kept = _BF16 * tokens * shape.hidden * shape.layers + tokens * (16 * shape.hidden + 6 * shape.inner)
    engine_weights = _BF16 * total / parallel / GIB
    cache = max(0.0, share * limit - engine_weights - 2.0)
    return Memory(
        weights=_FP32 * total / cards / GIB,
        gradients=_FP32 * total / cards / GIB,
        optimizer=2 * _FP32 * total / cards / GIB,
        gathered=_BF16 * (2 * shape.layer_parameters + embeddings) / GIB,
        activations=(kept + logits) / GIB,
        rollout_weights=engine_weights,
        kv_cache=cache,
        kv_tokens=int(cache * GIB / (shape.kv_bytes / parallel)),
        optimizer_waits=bool(actor.fsdp_config.optimizer_offload),
        limit=limit,
        share=share,
    )
