"""Detects that an agent loop worker has died.

verl starts episodes without waiting for them and polls for results. The episodes of a killed worker never finish, and
verl would not notice before the next step: the training would wait for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray.exceptions import RayActorError

EVERY = 2.0
"""Seconds between two checks."""


class WorkerWatch:
    """Checks whether all of verl's agent loop workers are alive.

    Args:
        workers: Returns the handles of the workers; none before they are created.
        every: Seconds between two checks.
    """

    def __init__(self, workers: Callable[[], Sequence[Any]], every: float = EVERY) -> None:
        self._workers, self._every = workers, every
        self._due = 0.0
        self._calls: dict[int, Any] = {}

    def look(self) -> None:
        """Check the workers if `every` seconds have passed.

        Raises:
            RuntimeError: A worker has died.
        """
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + self._every
        for number, worker in enumerate(self._workers()):
            if number not in self._calls:  # a living worker answers; for a dead one Ray raises
                self._calls[number] = worker.__ray_ready__.remote()
        if not self._calls:
            return
        ended, _ = ray.wait(list(self._calls.values()), num_returns=len(self._calls), timeout=0)
        self._calls = {number: call for number, call in self._calls.items() if call not in ended}
        try:
            ray.get(ended)
        except RayActorError as error:
            words = "an agent loop worker has died, and its episodes are lost"
            raise RuntimeError(f"{words}: {error}") from error
