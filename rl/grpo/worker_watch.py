"""Notices that a process has died in which episodes are played.

verl hands episodes out without waiting and then looks for what comes back. What a process that was killed had in hand
never comes, and nobody would say so before the next step: the training would wait for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray.exceptions import RayActorError

EVERY = 2.0
"""Seconds between two looks."""


class WorkerWatch:
    """Looks whether all of verl's agent loop workers are there.

    Args:
        workers: Gives the handles of the workers; none before they are there.
        every: Seconds between two looks.
    """

    def __init__(self, workers: Callable[[], Sequence[Any]], every: float = EVERY) -> None:
        self._workers, self._every = workers, every
        self._due = 0.0
        self._calls: dict[int, Any] = {}

    def look(self) -> None:
        """Look, if it is time to.

        Raises:
            RuntimeError: A worker has died.
        """
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + self._every
        for number, worker in enumerate(self._workers()):
            if number not in self._calls:  # answered by who lives, and by Ray for who is dead
                self._calls[number] = worker.__ray_ready__.remote()
        if not self._calls:
            return
        ended, _ = ray.wait(list(self._calls.values()), num_returns=len(self._calls), timeout=0)
        self._calls = {number: call for number, call in self._calls.items() if call not in ended}
        try:
            ray.get(ended)
        except RayActorError as error:
            words = "a process in which episodes are played has ended, and what it had in hand with it"
            raise RuntimeError(f"{words}: {error}") from error
