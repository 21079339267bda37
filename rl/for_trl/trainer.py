"""A `GRPOTrainer` that leaves episodes with a fault out of everything, whatever else is rewarded.

TRL leaves a completion out of its group's baseline, with the advantage 0, where all reward functions give ``None``. A
further function that scores an episode with a fault brings it back: with ``None`` counted as 0, this score alone would
be its reward. Here no function's reward counts for such an episode.

With ``rollout_func`` its tokens are masked, too. With ``environment_factory`` they are not: the tokens that were
sampled before the fault still count in the loss's denominator, and in the terms that have no advantage (KL, the bonus
for entropy). Here they are masked as well.
"""

from __future__ import annotations

from typing import Any

from simia_gym.rl.extras import require
from simia_gym.rl.for_trl.environments import ToolEnvironment

require("trl", "trl", "torch")

from trl import GRPOTrainer  # noqa: E402 - first the line that says what to install


class EpisodeGRPOTrainer(GRPOTrainer):
    """`trl.GRPOTrainer`, for both entrances; everything else is as there."""

    def _calculate_rewards(self, inputs: list[dict[str, Any]], *rest: Any) -> Any:
        rewards = super()._calculate_rewards(inputs, *rest)  # of all processes
        left_out = rewards.new_tensor(self._left_out() or [one.get("valid") is False for one in inputs])
        rewards[self.accelerator.gather(left_out).bool()] = float("nan")
        return rewards

    def _left_out(self) -> list[bool]:
        """Which episodes of this process have no reward, where they were played as environments."""
        return [isinstance(one, ToolEnvironment) and one.get_reward() is None for one in self.environments or ()]

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        batch: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self.environments:  # in every process or in none: what is gathered has to be gathered by all of them
            rows = batch["completion_mask"].new_tensor(self._left_out()).bool()
            own = batch.get("tool_mask")
            own = batch["completion_mask"].clone() if own is None else own.clone()
            own[rows] = 0
            batch["tool_mask"] = own
            counted = (batch["completion_mask"] * own).sum()
            batch["num_items_in_batch"] = self.accelerator.gather(counted).sum()
        return batch
