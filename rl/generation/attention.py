"""Attention of many conversations in one forward pass, each over its own keys and values.

The new tokens of all conversations are concatenated in one row, so that no layer computes padding. Only attention
depends on where a conversation ends: this module is an attention function for transformers (the interface behind
``attn_implementation``) that writes the new keys and values into the conversations' slots and attends to each slot
separately.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AttentionInterface

NAME = "simia_slots"


@dataclass(frozen=True, slots=True)
class Segment:
    """New tokens of one conversation.

    Attributes:
        slot: Index of the slot of its keys and values.
        start: Number of tokens whose keys and values are cached.
        ids: The new tokens.
        wanted: Whether to return the logits after the last token.
    """

    slot: int
    start: int
    ids: Sequence[int]
    wanted: bool


class Slots:
    """Keys and values of all conversations: for each layer two tensors of slots x heads x length x size."""

    def __init__(self, count: int, length: int) -> None:
        self.count, self.length = count, length
        self._layers: dict[int, tuple[Any, Any]] = {}

    def layer(self, index: int, key: Any, value: Any) -> tuple[Any, Any]:
        """A layer's tensors, allocated at their first use. Memory is used as slots fill up."""

        def empty(like: Any) -> Any:
            size = (self.count, like.shape[1], self.length, like.shape[3])
            return torch.empty(size, dtype=like.dtype, device=like.device)

        if index not in self._layers:
            self._layers[index] = (empty(key), empty(value))
        return self._layers[index]

    def copy(self, source: int, target: int, count: int) -> None:
        """Copy the first tokens of a slot to another."""
        for pair in self._layers.values():
            for tensor in pair:
                tensor[target, :, :count] = tensor[source, :, :count]

    def clear(self) -> None:
        """Drop everything and free the memory; it is allocated again when it is needed."""
        self._layers.clear()


class Plan:
    """The layout of one forward pass.

    Args:
        slots: Keys and values.
        segments: The new tokens.
        device: Where the model is.
    """

    def __init__(self, slots: Slots, segments: Sequence[Segment], device: Any) -> None:
        self.slots, self.segments = slots, segments
        ids: list[int] = []
        positions: list[int] = []
        rows: list[int] = []
        wanted: list[int] = []
        for segment in segments:
            ids += segment.ids
            positions += range(segment.start, segment.start + len(segment.ids))
            rows += [segment.slot] * len(segment.ids)
            if segment.wanted:
                wanted.append(len(ids) - 1)
        self.ids = torch.tensor(ids, device=device)
        self.positions = torch.tensor(positions, device=device)
        self.row_index = torch.tensor(rows, device=device)
        self.wanted = torch.tensor(wanted, dtype=torch.long, device=device)


_current = threading.local()


@contextmanager
def planned(plan: Plan) -> Iterator[None]:
    """Set the plan of the forward passes in this thread."""
    _current.plan = plan
    try:
        yield
    finally:
        _current.plan = None


def attend(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any = None,
    *,
    scaling: float | None = None,
    sliding_window: int | None = None,
    dropout: float = 0.0,
    **more: Any,
) -> tuple[Any, None]:
    """The attention function.

    Args:
        module: The attention layer; its ``layer_idx`` says which.
        query: 1 x heads x tokens x size.
        key: 1 x key heads x tokens x size; of the new tokens alone.
        value: The same.
        attention_mask: Must be ``None``; the plan defines the masks.
        scaling: Factor of the scores.
        sliding_window: Number of tokens that the layer attends to, including the current one.
        dropout: Not used.
        **more: Further arguments of some models.

    Returns:
        1 x tokens x heads x size, and no weights.

    Raises:
        ValueError: The model changes the attention scores in a way that this function does not compute.
    """
    plan: Plan | None = getattr(_current, "plan", None)
    changed = [name for name in ("softcap", "s_aux", "position_bias") if more.get(name) is not None]
    if plan is None or changed or attention_mask is not None:
        raise ValueError(", ".join(changed) or "attention without a plan, or with a mask")
    keys, values = plan.slots.layer(module.layer_idx, key, value)
    at = (plan.row_index, plan.positions)
    keys.transpose(1, 2)[at] = key[0].transpose(0, 1)
    values.transpose(1, 2)[at] = value[0].transpose(0, 1)
    out = query.new_empty(1, query.shape[2], query.shape[1], value.shape[3])
    done = 0
    for segment in plan.segments:
        count = len(segment.ids)
        first = 0 if sliding_window is None else max(0, segment.start + 1 - sliding_window)
        held = (segment.slot, slice(None), slice(first, segment.start + count))
        mask = None
        if count > 1 and (segment.start or sliding_window is not None):
            mask = _mask(segment.start - first, count, sliding_window, query.device)
        part = torch.nn.functional.scaled_dot_product_attention(
            query[:, :, done : done + count],
            keys[held][None],
            values[held][None],
            attn_mask=mask,
            is_causal=count > 1 and mask is None,
            scale=scaling,
            enable_gqa=query.shape[1] != key.shape[1],
        )
        out[:, done : done + count] = part.transpose(1, 2)
        done += count
    return out, None


def _mask(start: int, count: int, window: int | None, device: Any) -> Any:
    """Mask of new tokens over ``start`` earlier ones and themselves: count x (start + count), true where attended."""
    mask = torch.ones(count, start + count, dtype=torch.bool, device=device).tril(start)
    return mask if window is None else mask.triu(start - window + 1)


AttentionInterface.register(NAME, attend)
