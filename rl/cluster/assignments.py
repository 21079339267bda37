"""Which episode is assigned to which worker, which are complete, and which have to be assigned again."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from simia_gym.rollout.jobs import EpisodeSlot

_ATTEMPTS = 3
"""Workers that an episode may take down before it gets a fault."""


class Assignments:
    """Tracks every episode: each is counted once, and none is lost with a worker.

    The episodes of a dead worker are assigned again. An episode that was with two workers when they died runs alone
    on its third worker, so that it takes no other episode down; after a third death it is given up.

    Args:
        slots: The episodes in the order in which they start; drawn lazily.
    """

    def __init__(self, slots: Iterator[EpisodeSlot]) -> None:
        self._fresh = slots
        self._returned: deque[EpisodeSlot] = deque()
        self._suspects: deque[EpisodeSlot] = deque()
        # For each worker, its episodes and whether each of them runs alone.
        self._assigned: dict[str, dict[EpisodeSlot, bool]] = {}
        self._losses: Counter[EpisodeSlot] = Counter()

    def assign(self, worker: str, most: int) -> list[EpisodeSlot]:
        """Assign at most so many episodes to a worker; fewer, or none, if no more can be assigned to it now."""
        own = self._assigned.setdefault(worker, {})
        if any(own.values()):
            return []  # its only episode has to run alone
        slots: list[EpisodeSlot] = []
        while len(slots) < most:
            slot = self._returned.popleft() if self._returned else next(self._fresh, None)
            if slot is None:
                break
            slots.append(slot)
        if not slots and not own and self._suspects and most:
            slot = self._suspects.popleft()
            own[slot] = True
            return [slot]
        own.update(dict.fromkeys(slots, False))
        return slots

    def complete(self, worker: str, slot: EpisodeSlot) -> bool:
        """Mark an episode as complete; return whether it was assigned to this worker and so has to be counted."""
        return self._assigned.get(worker, {}).pop(slot, None) is not None

    def worker_died(self, worker: str) -> list[EpisodeSlot]:
        """Take back all episodes of a dead worker; return those that are given up."""
        given_up = []
        for slot in self._assigned.pop(worker, {}):
            self._losses[slot] += 1
            if self._losses[slot] >= _ATTEMPTS:
                given_up.append(slot)
            elif self._losses[slot] == _ATTEMPTS - 1:
                self._suspects.append(slot)
            else:
                self._returned.append(slot)
        return given_up

    def count(self, worker: str) -> int:
        """The number of episodes that are assigned to a worker."""
        return len(self._assigned.get(worker, ()))

    @property
    def done(self) -> bool:
        """Whether every episode is complete or given up."""
        if self._returned or self._suspects or any(self._assigned.values()):
            return False
        slot = next(self._fresh, None)
        if slot is not None:
            self._returned.append(slot)
        return slot is None
