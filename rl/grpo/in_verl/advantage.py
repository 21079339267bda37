"""GRPO's advantage over valid episodes.

verl's own estimator includes every row of a group in the baseline, and a row that is alone in its group gets its raw
reward as advantage. Here an episode with a fault, whose mask is empty, is left out of the baseline and has advantage 0.
A group with fewer than two valid episodes, or with equal rewards, has advantage 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from verl.trainer.ppo.core_algos import register_adv_est

NAME = "simia_grpo"
"""Value of verl's ``algorithm.adv_estimator``."""


@register_adv_est(NAME)
def group_advantage(
    token_level_rewards: torch.Tensor,
    response_mask: torch.Tensor,
    index: np.ndarray[Any, Any],
    epsilon: float = 1e-6,
    config: Mapping[str, Any] | None = None,
    **_: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute the advantages of a batch.

    Args:
        token_level_rewards: Rewards, shape (rows, tokens); a row's reward is their sum. Rows with an empty mask may
            hold NaN.
        response_mask: 1 where the policy sampled the token, shape (rows, tokens).
        index: The group of each row, shape (rows,).
        epsilon: Keeps the division by the standard deviation finite.
        config: The settings ``algorithm`` of verl. ``norm_adv_by_std_in_grpo`` (default true) divides by the group's
            standard deviation. ``loss_agg_mode`` is the actor's: if it averages over sequences, verl divides by all
            rows, also masked ones, and the advantages are scaled so that the loss is the mean over unmasked rows.

    Returns:
        Advantages and returns, which are the same, shape (rows, tokens); 0 wherever the mask is.
    """
    settings = {} if config is None else config
    with torch.no_grad():
        rewards = token_level_rewards.sum(dim=-1)
        counts = response_mask.any(dim=-1)
        scores = torch.zeros_like(rewards)
        teaching = 0
        for name in dict.fromkeys(index):
            group = torch.from_numpy(np.flatnonzero(index == name))
            rows = group[counts[group].cpu()]
            if len(rows) < 2:
                continue
            teaching += len(rows)
            of_group = rewards[rows]
            if bool((of_group == of_group[0]).all()):  # their mean is rounded, and the rounding would be the advantage
                continue
            above = of_group - of_group.mean()
            if settings.get("norm_adv_by_std_in_grpo", True):
                above = above / (of_group.std() + epsilon)
            scores[rows] = above
        if teaching and str(settings.get("loss_agg_mode", "")).startswith("seq-mean"):
            scores = scores * (len(scores) / teaching)
        advantages = scores.unsqueeze(-1) * response_mask
    return advantages, advantages
