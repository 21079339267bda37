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


class UnsupportedError(Exception):
    """The model's attention uses a feature that this function does not implement."""


class Slots:
    """Keys and values of all conversations: for each layer two tensors of slots x heads x length x size."""

    def __init__(self, count: int, length: int) -> None:
        self.count, self.length = count, length
        self._layers: dict[int, tuple[Any, Any]] = {}
        self._rows: dict[int, tuple[Sequence[Any], Sequence[Any]]] = {}

    def layer(self, index: int, key: Any, value: Any) -> tuple[Any, Any]:
        """A layer's tensors, allocated at their first use. Memory is used as slots fill up."""
        if index not in self._layers:
            made = tuple(
                torch.empty(self.count, like.shape[1], self.length, like.shape[3], dtype=like.dtype, device=like.device)
                for like in (key, value)
            )
            self._layers[index] = (made[0], made[1])
            # Views of each slot, created once: every step needs one for each conversation and layer.
            self._rows[index] = (made[0].split(1), made[1].split(1))
        return self._layers[index]

    def rows(self, index: int) -> tuple[Sequence[Any], Sequence[Any]]:
        """A layer's keys and values as one tensor per slot: 1 x heads x length x size."""
        return self._rows[index]

    def copy(self, source: int, target: int, count: int) -> None:
        """Copy the first tokens of a slot to another."""
        for pair in self._layers.values():
            for tensor in pair:
                tensor[target, :, :count] = tensor[source, :, :count]

    def free(self) -> None:
        """Free the memory."""
        self._layers.clear()
        self._rows.clear()


class Plan:
    """The layout of one forward pass.

    Args:
        slots: Keys and values.
        segments: The new tokens: first those with one token each, which are attended to together.
        device: Where the model is.
    """

    def __init__(self, slots: Slots, segments: Sequence[Segment], device: Any) -> None:
        self.slots, self.segments = slots, segments
        counts = [len(segment.ids) for segment in segments]
        self.single = sum(count == 1 for count in counts)
        self.total = sum(counts)
        ids: list[int] = []
        positions: list[int] = []
        rows: list[int] = []
        for segment, count in zip(segments, counts, strict=True):
            ids += segment.ids
            positions += range(segment.start, segment.start + count)
            rows += [segment.slot] * count
        self.ids = torch.tensor(ids, device=device)
        self.positions = torch.tensor(positions, device=device)
        self.row_index = torch.tensor(rows, device=device)
        ends = torch.tensor(counts).cumsum(0).tolist()
        wanted = [end - 1 for end, segment in zip(ends, segments, strict=True) if segment.wanted]
        self.wanted = torch.tensor(wanted, dtype=torch.long, device=device)
        self._masks: dict[tuple[int, int, int | None], Any] = {}

    def mask(self, start: int, count: int, window: int | None, device: Any) -> Any:
        """Attention mask of new tokens over a slot's tokens: count x (start + count), true where attended."""
        key = (start, count, window)
        if key not in self._masks:
            mask = torch.ones(count, start + count, dtype=torch.bool, device=device).tril(start)
            if window is not None:
                mask = mask.triu(start - window + 1)
            self._masks[key] = mask
        return self._masks[key]


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
        UnsupportedError: The model changes the attention scores in a way that is not implemented.
    """
    plan: Plan | None = getattr(_current, "plan", None)
    changed = [name for name in ("softcap", "s_aux", "position_bias") if more.get(name) is not None]
    if plan is None or changed or attention_mask is not None:
        raise UnsupportedError(", ".join(changed) or "attention without a plan, or with a mask")
    index = module.layer_idx
    keys, values = plan.slots.layer(index, key, value)
    at = (plan.row_index, plan.positions)
    keys.transpose(1, 2)[at] = key[0].transpose(0, 1)
    values.transpose(1, 2)[at] = value[0].transpose(0, 1)
    heads, groups = query.shape[1], key.shape[1]
    all_keys, all_values = plan.slots.rows(index)
    sdpa = torch.nn.functional.scaled_dot_product_attention
    out = []
    single = plan.single
    if single:
        # Heads that share a key are treated as several queries of one head, so that each key is read once.
        one = query[0, :, :single].transpose(0, 1).reshape(single, groups, heads // groups, -1).split(1)
        parts = []
        for place, segment in enumerate(plan.segments[:single]):
            first, size = _window(segment.start + 1, sliding_window)
            held = all_keys[segment.slot].narrow(2, first, size), all_values[segment.slot].narrow(2, first, size)
            parts.append(sdpa(one[place], *held, scale=scaling))
        out.append(torch.cat(parts).view(1, single, heads, -1))
    done = single
    for segment in plan.segments[single:]:
        count = len(segment.ids)
        end = segment.start + count
        mask = None
        if segment.start or (sliding_window is not None and sliding_window < end):
            mask = plan.mask(segment.start, count, sliding_window, query.device)
        part = sdpa(
            query[:, :, done : done + count],
            all_keys[segment.slot].narrow(2, 0, end),
            all_values[segment.slot].narrow(2, 0, end),
            attn_mask=mask,
            is_causal=mask is None,
            scale=scaling,
            enable_gqa=heads != groups,
        )
        out.append(part.transpose(1, 2))
        done += count
    return (out[0] if len(out) == 1 else torch.cat(out, dim=1)), None


def _window(length: int, window: int | None) -> tuple[int, int]:
    """First token that the last token attends to, and the number of tokens from there."""
    first = 0 if window is None else max(0, length - window)
    return first, length - first


AttentionInterface.register(NAME, attend)
