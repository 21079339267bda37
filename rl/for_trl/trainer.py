"""A `GRPOTrainer` that leaves episodes with a fault out of everything, also where they were played as environments.

TRL leaves a completion without a reward out of its group's baseline and gives it the advantage 0. With `rollout_func`
its tokens are masked, too. With ``environment_factory`` they are not: the tokens that were sampled before the fault
still count in the loss's denominator, and in the terms that have no advantage (KL, the bonus for entropy).
"""

from __future__ import annotations

from typing import Any

from simia_gym.rl.extras import require
from simia_gym.rl.for_trl.environments import ToolEnvironment

require("trl", "trl", "torch")

from trl import GRPOTrainer  # noqa: E402 - first the line that says what to install


class EpisodeGRPOTrainer(GRPOTrainer):
    """`trl.GRPOTrainer`, for ``environment_factory``; everything else is as there."""

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        batch: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self.environments:  # in every process or in none: what is gathered has to be gathered by all of them
            left_out = [isinstance(one, ToolEnvironment) and one.get_reward() is None for one in self.environments]
            rows = batch["completion_mask"].new_tensor(left_out).bool()
            own = batch.get("tool_mask")
            own = batch["completion_mask"].clone() if own is None else own.clone()
            own[rows] = 0
            batch["tool_mask"] = own
            counted = (batch["completion_mask"] * own).sum()
            batch["num_items_in_batch"] = self.accelerator.gather(counted).sum()
        return batch
