"""Which conversation's tokens are in which slot, and where a new prompt finds its longest beginning computed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_WORTH_COPYING = 16
"""Fewer tokens than these are computed again rather than copied."""

_WORTH_WAITING = 8
"""A prompt waits for another one that is just being computed if they share so many tokens more than are there yet."""


_PATIENCE = 0.25
"""Seconds for which a slot waits for its conversation's next turn while other slots are busy."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a prompt is computed.

    Attributes:
        slot: The slot.
        kept: Number of the prompt's tokens that the slot holds already.
        source: Slot from which further tokens are to be copied, or ``None``.
        copied: Number of the prompt's tokens that are there after copying.
    """

    slot: int
    kept: int
    source: int | None = None
    copied: int = 0


class SlotTable:
    """The books of the slots; the keys and values themselves are the runner's.

    Args:
        count: Number of slots.
        length: Most tokens in one.
        shares: Whether a slot's first tokens can be used for another conversation.
    """

    def __init__(self, count: int, length: int, *, shares: bool) -> None:
        self.count, self._shares = count, shares
        self._tokens: NDArray[np.int32] = np.zeros((count, length), dtype=np.int32)
        self._planned: NDArray[np.int64] = np.zeros(count, dtype=np.int64)  # tokens written down
        self._computed: NDArray[np.int64] = np.zeros(count, dtype=np.int64)  # of these, keys and values are there
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

    def find(self, request_id: str, prompt: Sequence[int]) -> Place | None:
        """Choose a slot for a prompt.

        Args:
            request_id: The conversation.
            prompt: All its tokens.

        Returns:
            The place; ``None`` if there is none now, or if it is better to wait for a prompt that is being computed.
        """
        wanted = np.asarray(prompt, dtype=np.int32)
        last = len(wanted) - 1  # of the last token the logits are needed, so it is computed in any case
        own = self._slot_of.get(request_id)
        if own is not None and not self._busy[own]:
            common = self._common(own, wanted[:last])
            if common == self._computed[own] or (self._shares and common == last):
                return Place(own, common)
        shared = self._all_common(wanted[:last])
        there = np.minimum(shared, self._computed)
        whole = np.flatnonzero(~self._busy & (there == self._computed) & (self._computed > 0))
        if len(whole):
            # A conversation that went on under another name: its slot goes on with it.
            best = int(whole[there[whole].argmax()])
            if not self._shares or there[best] >= there.max():
                return Place(best, int(there[best]))
        idle = np.flatnonzero(~self._busy)
        if not len(idle):
            return None
        target = own if own is not None and not self._busy[own] else int(idle[self._used[idle].argmin()])
        if target != own and self._comes_back(target):
            return None
        if not self._shares:
            return Place(target, 0)
        if int(shared.max()) - int(there.max()) >= _WORTH_WAITING:
            return None  # only busy slots have tokens that are not computed yet, so the wait ends
        source = int(there.argmax())
        kept = int(there[target])
        if there[source] - kept < _WORTH_COPYING:
            return Place(target, kept)
        return Place(target, kept, source, int(there[source]))

    def take(self, place: Place, request_id: str, prompt: Sequence[int]) -> None:
        """A request begins to use a slot."""
        slot = place.slot
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
        self._computed[slot] = max(place.kept, place.copied)
        self._busy[slot] = True

    def computed(self, slot: int) -> int:
        """Number of tokens of a slot whose keys and values are there."""
        return int(self._computed[slot])

    def advance(self, slot: int, count: int) -> None:
        """So many tokens more have been computed."""
        self._computed[slot] += count

    def append(self, slot: int, token: int) -> None:
        """A token was sampled."""
        self._tokens[slot, self._planned[slot]] = token
        self._planned[slot] += 1

    def release(self, slot: int) -> None:
        """No request uses the slot any more; what it holds is kept until another one needs it."""
        self._clock += 1
        self._busy[slot] = False
        self._used[slot] = self._clock
        self._since[slot] = time.monotonic()
        self._planned[slot] = self._computed[slot]

    def forget(self, request_id: str) -> int | None:
        """A conversation is over: its slot is the next to be used.

        Returns:
            Its slot, unless it has none, or a request is using it.
        """
        slot = self._slot_of.get(request_id)
        if slot is None or self._busy[slot]:
            return None
        del self._slot_of[request_id]
        self._owner[slot] = None
        self._used[slot] = 0
        return slot

    def stale(self) -> None:
        """The weights have changed: nothing that was computed holds any more."""
        idle = ~self._busy
        self._computed[:] = 0
        self._planned[idle] = 0
        self._used[idle] = 0  # the same slots are used first again, so that no more memory is touched than needed

    def _comes_back(self, slot: int) -> bool:
        """Whether a slot's conversation is probably only hearing an answer, and other work need not wait for that.

        Without this, where there are more conversations than slots, each would lose its slot to the one before it.
        """
        alive = self._owner[slot] is not None and self._computed[slot] > 0
        return alive and bool(self._busy.any()) and time.monotonic() - float(self._since[slot]) < _PATIENCE

    def _common(self, slot: int, wanted: NDArray[np.int32]) -> int:
        size = min(int(self._computed[slot]), len(wanted))
        different = np.flatnonzero(self._tokens[slot, :size] != wanted[:size])
        return int(different[0]) if len(different) else size

    def _all_common(self, wanted: NDArray[np.int32]) -> NDArray[np.int64]:
        """For each slot, with how many of its tokens a prompt begins."""
        size = len(wanted)
        if not size:
            return np.zeros(self.count, dtype=np.int64)
        different = self._tokens[:, :size] != wanted
        first = np.where(different.any(axis=1), different.argmax(axis=1), size)
        return np.minimum(first, self._planned)
