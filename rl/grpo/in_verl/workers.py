"""verl's agent loop workers: tasks are distributed evenly over them, and the death of one is noticed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray.exceptions import RayActorError
from verl.trainer.ppo.v1 import AgentLoopManagerTQ

EVERY = 2.0
"""Seconds between two checks."""


class TakingTurns(AgentLoopManagerTQ):
    """Assigns tasks to the workers round-robin across calls.

    verl starts with the first worker in each call. That does not matter for whole batches; but if groups are replaced
    one by one (dynamic sampling, failures, staleness), the first worker would play nearly all replacements.
    """

    agent_loop_workers: list[Any]

    def generate_sequences(self, prompts: Any) -> None:
        """Start the episodes of verl's batch of tasks, each on the next worker, without waiting for them."""
        super().generate_sequences(prompts)
        workers = self.agent_loop_workers
        begun = len(prompts) % len(workers)
        self.agent_loop_workers = [*workers[begun:], *workers[:begun]]


class WorkerWatch:
    """Checks whether all of verl's agent loop workers are alive.

    verl starts episodes without waiting for them and polls for results. The episodes of a killed worker never finish,
    and verl would not notice before the next step: the training would wait for ever.
    """

    def __init__(self, workers: Callable[[], Sequence[Any]], every: float = EVERY) -> None:
        self._workers, self._every = workers, every
        self._due = 0.0
        self._calls: list[Any] = []

    def look(self) -> None:
        """Check the workers if `every` seconds have passed.

        Raises:
            RuntimeError: A worker has died.
        """
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + self._every
        # A living worker answers; for a dead one Ray raises.
        self._calls = self._calls or [worker.__ray_ready__.remote() for worker in self._workers()]
        if not self._calls:
            return
        ended, self._calls = ray.wait(self._calls, num_returns=len(self._calls), timeout=0)
        try:
            ray.get(ended)
        except RayActorError as error:
            words = "an agent loop worker has died, and its episodes are lost"
            raise RuntimeError(f"{words}: {error}") from error
