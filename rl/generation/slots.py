"""Which tokens are cached in which slot, and which slot has the longest common prefix with a new prompt."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_WORTH_COPYING = 16
"""Minimum number of tokens to copy from another slot; fewer are computed again."""

_WORTH_WAITING = 8
"""Minimum number of shared tokens for which a prompt waits while another prompt is being computed."""


_PATIENCE = 0.25
"""Seconds for which a slot waits for its conversation's next turn while other slots are busy."""


@dataclass(frozen=True, slots=True)
class SlotMatch:
    """The slot for a prompt.

    Attributes:
        slot: Index of the slot.
        kept: Number of the prompt's tokens that are cached in the slot.
        source: Slot from which further tokens are copied, or ``None``.
        copied: Number of the prompt's tokens that are cached after copying.
    """

    slot: int
    kept: int
    source: int | None = None
    copied: int = 0


class SlotTable:
    """The tokens of all slots; the runner holds keys and values, and copies prefixes if ``shares``."""

    def __init__(self, count: int, length: int, *, shares: bool) -> None:
        self.count, self._shares = count, shares
        self._tokens: NDArray[np.int32] = np.zeros((count, length), dtype=np.int32)
        self._planned: NDArray[np.int64] = np.zeros(count, dtype=np.int64)  # tokens of each slot
        self._computed: NDArray[np.int64] = np.zeros(count, dtype=np.int64)  # tokens whose keys and values are cached
        self._busy: NDArray[np.bool_] = np.zeros(count, dtype=np.bool_)
        self._used: NDArray[np.int64] = np.zeros(count, dtype=np.int64)
        self._since: NDArray[np.float64] = np.zeros(count)
        self._clock = 0
        self._slot_of: dict[str, int] = {}
        self._owner: list[str | None] = [None] * count

    @property
    def free(self) -> int:
        """Number of slots that no request is using."""
        return self.count - int(self._busy.sum())

    def find(self, request_id: str, prompt: Sequence[int]) -> SlotMatch | None:
        """Choose a slot for a prompt; ``None`` if none is free, or if waiting for another prompt is better."""
        wanted = np.asarray(prompt, dtype=np.int32)
        last = len(wanted) - 1  # the last token is always computed, since its logits are needed
        own = self._slot_of.get(request_id)
        if own is not None and not self._busy[own]:
            common = self._common(own, wanted[:last])
            if common == self._computed[own] or (self._shares and common == last):
                return SlotMatch(own, common)
        shared = self._all_common(wanted[:last])
        there = np.minimum(shared, self._computed)
        whole = np.flatnonzero(~self._busy & (there == self._computed) & (self._computed > 0))
        if len(whole):
            # The conversation continues under another id: it keeps its slot.
            best = int(whole[there[whole].argmax()])
            if not self._shares or there[best] >= there.max():
                return SlotMatch(best, int(there[best]))
        idle = np.flatnonzero(~self._busy)
        if not len(idle):
            return None
        target = own if own is not None and not self._busy[own] else int(idle[self._used[idle].argmin()])
        if target != own and self._comes_back(target):
            return None
        if not self._shares:
            return SlotMatch(target, 0)
        if int(shared.max()) - int(there.max()) >= _WORTH_WAITING:
            return None  # only busy slots have tokens that are not computed yet, so the wait ends
        source = int(there.argmax())
        kept = int(there[target])
        if there[source] - kept < _WORTH_COPYING:
            return SlotMatch(target, kept)
        return SlotMatch(target, kept, source, int(there[source]))

    def take(self, match: SlotMatch, request_id: str, prompt: Sequence[int]) -> None:
        """Assign a slot to a request."""
        slot = match.slot
        previous = self._owner[slot]
        if previous is not None:
            self._slot_of.pop(previous, None)
        before = self._slot_of.pop(request_id, None)
        if before is not None and before != slot:
            self._owner[before] = None
        self._owner[slot] = request_id
        self._slot_of[request_id] = slot
        self._tokens[slot, : len(prompt)] = prompt
        self._planned[slot] = len(prompt)
        self._computed[slot] = max(match.kept, match.copied)
        self._busy[slot] = True

    def computed(self, slot: int) -> int:
        """Number of tokens of a slot whose keys and values are cached."""
        return int(self._computed[slot])

    def advance(self, slot: int, count: int) -> None:
        """Note that further tokens have been computed."""
        self._computed[slot] += count

    def append(self, slot: int, token: int) -> None:
        """Append a sampled token."""
        self._tokens[slot, self._planned[slot]] = token
        self._planned[slot] += 1

    def release(self, slot: int) -> None:
        """Free a slot; its content is kept until another conversation needs it."""
        self._clock += 1
        self._busy[slot] = False
        self._used[slot] = self._clock
        self._since[slot] = time.monotonic()
        self._planned[slot] = self._computed[slot]

    def forget(self, request_id: str) -> int | None:
        """Make the slot of a finished conversation the next to be reused; return it, if it is free."""
        slot = self._slot_of.get(request_id)
        if slot is None or self._busy[slot]:
            return None
        del self._slot_of[request_id]
        self._owner[slot] = None
        self._used[slot] = 0
        return slot

    def stale(self) -> None:
        """Drop all cached tokens, since the weights have changed."""
        idle = ~self._busy
        self._computed[:] = 0
        self._planned[idle] = 0
        self._used[idle] = 0  # so that the same slots are reused first, which touches less memory

    def _comes_back(self, slot: int) -> bool:
        """Whether a slot's conversation probably continues soon, after the environment's answer.

        Otherwise, with more conversations than slots, each would lose its slot to another one between its turns.
        """
        alive = self._owner[slot] is not None and self._computed[slot] > 0
        return alive and bool(self._busy.any()) and time.monotonic() - float(self._since[slot]) < _PATIENCE

    def _common(self, slot: int, wanted: NDArray[np.int32]) -> int:
        size = min(int(self._computed[slot]), len(wanted))
        different = np.flatnonzero(self._tokens[slot, :size] != wanted[:size])
        return int(different[0]) if len(different) else size

    def _all_common(self, wanted: NDArray[np.int32]) -> NDArray[np.int64]:
        """For each slot, the length of its common prefix with a prompt."""
        size = len(wanted)
        if not size:
            return np.zeros(self.count, dtype=np.int64)
        different = self._tokens[:, :size] != wanted
        first = np.where(different.any(axis=1), different.argmax(axis=1), size)
        return np.minimum(first, self._planned)
