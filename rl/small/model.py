"""Creates a small Qwen3 with random weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.small.copying import PAIRS, notes, write_copying_heads


@dataclass(frozen=True)
class Size:
    """The shape of a model.

    Attributes:
        layers: Number of layers.
        hidden: Width of the residual stream.
        heads: Number of attention heads.
        kv_heads: Number of key and value heads; divides ``heads``.
        head_dim: Width of a head.
        intermediate: Inner width of the feed-forward layers.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int

    def altered(self, *, layers: int | None, hidden: int | None, heads: int | None) -> Size:
        """Change some sizes; the sizes that depend on them are adjusted.

        Raises:
            InputError: A number is below 1.
        """
        for name, value in (("layers", layers), ("hidden", hidden), ("heads", heads)):
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}", where=name, fix="Use 1 or more.")
        size = replace(self, layers=layers or self.layers)
        if heads is not None:
            size = replace(size, heads=heads, kv_heads=heads)
        if hidden is not None:
            width = max(8, hidden // size.heads // 8 * 8)
            inner = (hidden * 8 // 3 + 31) // 32 * 32
            size = replace(size, hidden=hidden, head_dim=width, intermediate=inner)
        return size


SIZES: Mapping[str, Size] = {
    "tiny": Size(2, 64, 4, 2, 16, 192),
    "small": Size(3, 192, 6, 6, 32, 512),
    "base": Size(6, 256, 8, 8, 32, 704),
    "large": Size(12, 768, 12, 6, 64, 2048),
}
"""Shapes by name; ``small`` can be trained on CPU, ``large`` needs a GPU."""


ROPE_THETA = 1e6
"""Rotary base, as in Qwen3: half of the dimensions hardly rotate, so attention can match tokens at any distance."""


def can_copy(size: Size) -> bool:
    """Whether copying heads can be initialised in this shape: heads must be wide enough to distinguish tokens."""
    wide = size.head_dim >= 2 * PAIRS and size.hidden <= 8 * size.head_dim
    return wide and size.layers >= 2 and notes(size.hidden, size.head_dim) >= 1


def make_model(size: Size, tokenizer: Any, *, max_length: int, seed: int, copying: bool = False) -> Any:
    """Make a ``Qwen3ForCausalLM`` with random weights in float32, for at most ``max_length`` tokens."""
    import torch
    from transformers import GenerationConfig, Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=size.hidden,
        intermediate_size=size.intermediate,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.kv_heads,
        head_dim=size.head_dim,
        max_position_embeddings=max_length,
        rope_theta=ROPE_THETA,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(config)
    if copying:
        write_copying_heads(model, [tokenizer.decode([place]) for place in range(len(tokenizer))], seed=seed)
    model.generation_config = GenerationConfig(
        do_sample=True, eos_token_id=[tokenizer.eos_token_id], pad_token_id=tokenizer.pad_token_id
    )
    return model
