"""Which episode is with which worker, which are done, and which have to be done again."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import NamedTuple

_TRIES = 3
"""Workers that an episode may take along before it is given up."""


class Place(NamedTuple):
    """One episode of a plan, in few bytes.

    Attributes:
        position: Its task's place in the list of tasks, from 0.
        member: Its number among those of the task.
    """

    position: int
    member: int


class Book:
    """Keeps account of every episode: each is counted once, and none is lost with a worker.

    What a worker had that died goes to others first. Where that happens twice to an episode it is next played alone, so
    that if it is what kills workers, it takes no other along; and after the third time it is given up.

    Args:
        places: The episodes in the order in which they are to begin; drawn as they are handed out.
    """

    def __init__(self, places: Iterator[Place]) -> None:
        self._fresh = places
        self._back: deque[Place] = deque()
        self._alone: deque[Place] = deque()
        self._with: dict[str, dict[Place, bool]] = {}
        self._losses: Counter[Place] = Counter()
        self._empty = False

    def take(self, worker: str, most: int) -> list[Place]:
        """Hand out episodes.

        Args:
            worker: To whom.
            most: At most so many.

        Returns:
            The episodes; fewer, or none, where there are no more for this worker now.
        """
        held = self._with.setdefault(worker, {})
        if any(held.values()):
            return []  # it plays one that must be alone
        taken: list[Place] = []
        while len(taken) < most:
            place = self._back.popleft() if self._back else self._next()
            if place is None:
                break
            taken.append(place)
        if not taken and not held and self._alone and most:
            place = self._alone.popleft()
            held[place] = True
            return [place]
        held.update(dict.fromkeys(taken, False))
        return taken

    def _next(self) -> Place | None:
        if self._empty:
            return None
        place = next(self._fresh, None)
        self._empty = place is None
        return place

    def finish(self, worker: str, place: Place) -> bool:
        """An episode is done.

        Returns:
            Whether it was this worker's to do; else it counts elsewhere.
        """
        return self._with.get(worker, {}).pop(place, None) is not None

    def give_back(self, worker: str, places: list[Place]) -> None:
        """A worker has not begun these; others may."""
        held = self._with.get(worker, {})
        self._back.extendleft(place for place in reversed(places) if held.pop(place, None) is not None)

    def lose(self, worker: str) -> list[Place]:
        """A worker has died: what it had is to be done again.

        Returns:
            Those that are given up instead.
        """
        given_up = []
        for place in self._with.pop(worker, {}):
            self._losses[place] += 1
            if self._losses[place] >= _TRIES:
                given_up.append(place)
            elif self._losses[place] == _TRIES - 1:
                self._alone.append(place)
            else:
                self._back.append(place)
        return given_up

    def held(self, worker: str) -> int:
        """How many episodes a worker has."""
        return len(self._with.get(worker, ()))

    @property
    def done(self) -> bool:
        """Whether there is nothing left to hand out, and nobody has anything."""
        if self._back or self._alone or any(self._with.values()):
            return False
        place = self._next()
        if place is not None:
            self._back.append(place)
        return place is None
