"""Which tokens are cached in which slot, and which slot has the longest common prefix with a new prompt."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_WORTH_WAITING = 8
"""Minimum number of shared tokens for which a prompt waits while another prompt is being computed."""
_PATIENCE = 0.25
"""Seconds for which a slot waits for its conversation's next turn while other slots are busy."""


@dataclass(frozen=True, slots=True)
class SlotMatch:
    """The slot of a prompt.

    Attributes:
        slot: Index of the slot.
        source: Slot in which the beginning of the prompt is cached; the same slot, or one to copy from.
        count: Number of the prompt's tokens that are cached there.
    """

    slot: int
    source: int
    count: int


class SlotTable:
    """The tokens of all slots; the runner holds keys and values, and can copy prefixes if ``shares``."""

    def __init__(self, count: int, length: int, *, shares: bool) -> None:
        self._shares = shares
        self._tokens: NDArray[np.int32] = np.zeros((count, length), dtype=np.int32)
        self._planned: NDArray[np.int64] = np.zeros(count, dtype=np.int64)  # tokens of each slot
        self._computed: NDArray[np.int64] = np.zeros(count, dtype=np.int64)  # tokens whose keys and values are cached
        self._busy: NDArray[np.bool_] = np.zeros(count, dtype=np.bool_)
        self._released: NDArray[np.float64] = np.zeros(count)  # when a request used the slot last; 0: reuse it first
        self._owner: list[str | None] = [None] * count

    def assign(self, request_id: str, prompt: Sequence[int]) -> SlotMatch | None:
        """Give a prompt a slot; ``None`` if none is free, or if waiting for another prompt is better."""
        idle = np.flatnonzero(~self._busy)
        if not len(idle):
            return None
        wanted = np.asarray(prompt, dtype=np.int32)
        shared = self._common(wanted[:-1])  # the last token is always computed, since its logits are needed
        there = np.minimum(shared, self._computed)
        whole = idle[(there[idle] == self._computed[idle]) & (self._computed[idle] > 0)]
        if len(whole):
            # The conversation continues, perhaps under another id: it keeps its slot.
            best = int(whole[there[whole].argmax()])
            if not self._shares or there[best] >= there.max():
                return self._take(request_id, wanted, SlotMatch(best, best, int(there[best])))
        own = self._owner.index(request_id) if request_id in self._owner else -1
        target = own if own in idle else int(idle[self._released[idle].argmin()])
        if target != own and self._comes_back(target):
            return None
        if not self._shares:
            return self._take(request_id, wanted, SlotMatch(target, target, 0))
        if int(shared.max()) - int(there.max()) >= _WORTH_WAITING:
            return None  # only busy slots have tokens that are not computed yet, so the wait ends
        source = target if there[target] == there.max() else int(there.argmax())
        return self._take(request_id, wanted, SlotMatch(target, source, int(there[source])))

    def computed(self, slot: int) -> int:
        """Number of tokens of a slot whose keys and values are cached."""
        return int(self._computed[slot])

    def missing(self, slot: int) -> int:
        """Number of tokens of a slot whose keys and values are not cached."""
        return int(self._planned[slot] - self._computed[slot])

    def next_tokens(self, slot: int, count: int) -> list[int]:
        """The first tokens whose keys and values are not cached."""
        start = self._computed[slot]
        tokens: list[int] = self._tokens[slot, start : start + count].tolist()
        return tokens

    def advance(self, slot: int, count: int) -> None:
        """Note that further tokens have been computed."""
        self._computed[slot] += count

    def append(self, slot: int, token: int) -> None:
        """Append a sampled token."""
        self._tokens[slot, self._planned[slot]] = token
        self._planned[slot] += 1

    def release(self, slot: int) -> None:
        """Free a slot; its content is kept until another conversation needs it."""
        self._busy[slot] = False
        self._released[slot] = time.monotonic()
        self._planned[slot] = self._computed[slot]

    def forget(self, request_id: str) -> None:
        """Make the slot of a finished conversation the next to be reused, so that fewer slots take memory."""
        if request_id in self._owner:
            self._released[self._owner.index(request_id)] = 0.0

    def clear(self) -> None:
        """Note that nothing is cached any more."""
        self._computed[:] = 0
        self._planned[~self._busy] = 0

    def _take(self, request_id: str, prompt: NDArray[np.int32], match: SlotMatch) -> SlotMatch:
        slot = match.slot
        self._owner = [None if name == request_id else name for name in self._owner]
        self._owner[slot] = request_id
        self._tokens[slot, : len(prompt)] = prompt
        self._planned[slot] = len(prompt)
        self._computed[slot] = match.count
        self._busy[slot] = True
        return match

    def _comes_back(self, slot: int) -> bool:
        """Whether a slot's conversation probably continues soon, after the environment's answer.

        Otherwise, with more conversations than slots, each would lose its slot to another one between its turns.
        """
        recent = time.monotonic() - float(self._released[slot]) < _PATIENCE
        return recent and bool(self._computed[slot] > 0) and bool(self._busy.any())

    def _common(self, wanted: NDArray[np.int32]) -> NDArray[np.int64]:
        """For each slot, the length of its common prefix with a prompt."""
        size = len(wanted)
        if not size:
            return np.zeros_like(self._planned)
        different = self._tokens[:, :size] != wanted
        first = np.where(different.any(axis=1), different.argmax(axis=1), size)
        return np.minimum(first, self._planned)
