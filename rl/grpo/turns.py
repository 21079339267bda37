"""Which worker plays what: each in its turn."""

from __future__ import annotations

from typing import Any

from verl.trainer.ppo.v1 import AgentLoopManagerTQ


class TakingTurns(AgentLoopManagerTQ):
    """Hands tasks to the workers, beginning where it left off.

    verl begins with the first worker every time. That does not matter for whole batches; where groups are replaced one
    by one (dynamic sampling, failures, staleness) the first worker would play nearly all of the others.
    """

    agent_loop_workers: list[Any]

    def generate_sequences(self, prompts: Any) -> None:
        """Have tasks played, each by the next worker; does not wait for them.

        Args:
            prompts: The tasks as verl hands them over, a ``TensorDict`` of one row each.
        """
        super().generate_sequences(prompts)
        workers = self.agent_loop_workers
        begun = len(prompts) % len(workers)
        self.agent_loop_workers = [*workers[begun:], *workers[:begun]]
