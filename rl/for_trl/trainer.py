"""A `GRPOTrainer` that excludes episodes with a fault, also with further reward functions.

TRL excludes a completion from its group's baseline and gives it advantage 0 only if all reward functions return
``None``. If another reward function scores an episode with a fault, TRL counts ``None`` as 0 and uses that score alone.
This trainer ignores all rewards of such an episode.

With ``rollout_func`` the tokens of such an episode are masked already. With ``environment_factory`` the tokens sampled
before the fault would count in the denominator of the loss and in the terms of KL and entropy. This trainer masks them.
"""

from __future__ import annotations

from typing import Any

from simia_gym.rl.extras import require
from simia_gym.rl.for_trl.environments import ToolEnvironment

require("trl", "trl", "torch")

from trl import GRPOTrainer  # noqa: E402 - first the line that says what to install


class EpisodeGRPOTrainer(GRPOTrainer):
    """`trl.GRPOTrainer` without episodes that have a fault, for ``rollout_func`` and ``environment_factory``."""

    def _calculate_rewards(self, inputs: list[dict[str, Any]], *rest: Any) -> Any:
        rewards = super()._calculate_rewards(inputs, *rest)  # rows of all processes
        left_out = rewards.new_tensor(self._left_out() or [one.get("valid") is False for one in inputs])
        rewards[self.accelerator.gather(left_out).bool()] = float("nan")
        return rewards

    def _left_out(self) -> list[bool]:
        """For each environment of this process, whether its episode has no reward; empty with ``rollout_func``."""
        return [isinstance(one, ToolEnvironment) and one.get_reward() is None for one in self.environments or ()]

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        batch: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self.environments:  # the same in all processes, so all of them take part in the gathering
            rows = batch["completion_mask"].new_tensor(self._left_out()).bool()
            own = batch.get("tool_mask")
            own = batch["completion_mask"].clone() if own is None else own.clone()
            own[rows] = 0
            batch["tool_mask"] = own
            counted = (batch["completion_mask"] * own).sum()
            batch["num_items_in_batch"] = self.accelerator.gather(counted).sum()
        return batch
