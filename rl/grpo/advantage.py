"""GRPO's advantage over the episodes that count.

verl's own estimator takes every row of a group into the baseline, and gives the only row of a group its raw reward as
advantage. Here an episode that a fault ended has no token of the policy in its mask: it enters no baseline and gets no
advantage. A group with fewer than two episodes that count says nothing about what is better, and teaches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from verl.trainer.ppo.core_algos import register_adv_est

NAME = "simia_grpo"
"""What ``algorithm.adv_estimator`` is to be."""


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
        token_level_rewards: Rewards, shape (rows, tokens); a row's reward is their sum. Rows without a mask may hold
            anything, also NaN.
        response_mask: 1 where the policy sampled the token, shape (rows, tokens).
        index: The group of each row, shape (rows,).
        epsilon: Keeps the division by the standard deviation finite.
        config: The settings ``algorithm`` of verl. ``norm_adv_by_std_in_grpo`` (default true) divides by the group's
            standard deviation. ``loss_agg_mode`` is the actor's: where it averages over sequences, verl divides by all
            rows, those that are masked too, and the advantages are scaled so that the loss is the mean over the rows
            that count.

    Returns:
        Advantages and returns, which are the same, shape (rows, tokens); 0 wherever the mask is.
    """
    settings = {} if config is None else config
    with torch.no_grad():
        rewards = token_level_rewards.sum(dim=-1)
        counts = response_mask.any(dim=-1)
        scores = torch.zeros_like(rewards)
        teaching = 0
        for group in _groups(index):
            rows = group[counts[group].cpu()]
            if len(rows) < 2:
                continue
            of_group = rewards[rows]
            above = of_group - of_group.mean()
            if settings.get("norm_adv_by_std_in_grpo", True):
                above = above / (of_group.std() + epsilon)
            scores[rows] = above
            teaching += len(rows)
        if teaching and str(settings.get("loss_agg_mode", "")).startswith("seq-mean"):
            scores = scores * (len(scores) / teaching)
        advantages = scores.unsqueeze(-1) * response_mask
    return advantages, advantages


def _groups(index: np.ndarray[Any, Any]) -> list[torch.Tensor]:
    """The row numbers of each group, in the order in which the groups begin."""
    rows: dict[Any, list[int]] = {}
    for row, name in enumerate(index):
        rows.setdefault(name, []).append(row)
    return [torch.tensor(group) for group in rows.values()]
