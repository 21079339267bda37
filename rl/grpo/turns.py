"""Distributes tasks over verl's agent loop workers."""

from __future__ import annotations

from typing import Any

from verl.trainer.ppo.v1 import AgentLoopManagerTQ


class TakingTurns(AgentLoopManagerTQ):
    """Assigns tasks to the workers round-robin across calls.

    verl starts with the first worker in each call. That does not matter for whole batches; but if groups are replaced
    one by one (dynamic sampling, failures, staleness), the first worker would play nearly all replacements.
    """

    agent_loop_workers: list[Any]

    def generate_sequences(self, prompts: Any) -> None:
        """Start the episodes of tasks, each on the next worker, without waiting for them.

        Args:
            prompts: verl's batch of tasks, a ``TensorDict`` with one row for each.
        """
        super().generate_sequences(prompts)
        workers = self.agent_loop_workers
        begun = len(prompts) % len(workers)
        self.agent_loop_workers = [*workers[begun:], *workers[:begun]]
