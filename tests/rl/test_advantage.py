"""GRPO's numbers, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from .libraries import need

need("torch", "verl")

import torch
from verl.trainer.ppo import core_algos

import simia_gym.rl.verl_plugin.load  # noqa: F401 - patches verl
from simia_gym.rl.grpo.in_verl.advantage import group_advantage

NAN = float("nan")
HALF = math.sqrt(0.5)
"""The standard deviation, with n - 1, of one success and one failure."""


def batch(rows: list[tuple[str, float, list[int]]]) -> dict[str, Any]:
    """Rows of group, reward and mask; the reward stands at the last token, as verl puts it."""
    rewards = torch.zeros(len(rows), len(rows[0][2]))
    for number, (_, reward, _) in enumerate(rows):
        rewards[number, -1] = reward
    return {
        "token_level_rewards": rewards,
        "response_mask": torch.tensor([mask for *_, mask in rows]),
        "index": np.array([group for group, *_ in rows], dtype=object),
    }


def scores(advantages: torch.Tensor, mask: torch.Tensor) -> list[float]:
    """The one number of each row, which must be that of all tokens in its mask and 0 elsewhere."""
    found = []
    for row, own in zip(advantages, mask.bool(), strict=True):
        assert not row[~own].any()
        inside = row[own]
        found.append(float(inside[0]) if len(inside) else 0.0)
        assert torch.equal(inside, inside[:1].expand_as(inside))
    return found


PLAYED = [1, 0, 1]
FAULT = [0, 0, 0]
MIXED = [
    ("a", 1.0, PLAYED),
    ("a", 0.0, PLAYED),
    ("b", 0.5, PLAYED),
    ("a", NAN, FAULT),
    ("b", NAN, FAULT),
    ("c", 1.0, PLAYED),
    ("b", NAN, FAULT),
    ("c", 1.0, PLAYED),
    ("d", NAN, FAULT),
]
"""In a: 1 and 0, and a fault. In b one that counts and two faults. In c all alike. In d nothing but a fault."""


def test_the_baseline_is_that_of_the_episodes_that_count() -> None:
    given = batch(MIXED)
    plain, _ = group_advantage(**given, config={"norm_adv_by_std_in_grpo": False})
    # The mean of a is 1/2: with the fault as a 0 it would be 1/3, and the advantages 2/3 and -1/3.
    assert scores(plain, given["response_mask"]) == [0.5, -0.5, 0, 0, 0, 0, 0, 0, 0]
    by_std, returns = group_advantage(**given, config={"norm_adv_by_std_in_grpo": True})
    want = 0.5 / (HALF + 1e-6)
    assert scores(by_std, given["response_mask"]) == pytest.approx([want, -want, 0, 0, 0, 0, 0, 0, 0])
    assert torch.equal(by_std, returns)


def test_where_every_episode_counts_it_is_the_estimator_of_verl() -> None:
    torch.manual_seed(0)
    mask = (torch.rand(12, 7) > 0.4).long()
    mask[:, 0] = 1
    given = {
        "token_level_rewards": torch.rand(12, 7) * mask,
        "response_mask": mask,
        "index": np.array([name for name in "abc" for _ in range(4)], dtype=object),
    }
    for by_std in (True, False):
        ours, _ = group_advantage(**given, config={"norm_adv_by_std_in_grpo": by_std})
        verls, _ = core_algos.compute_grpo_outcome_advantage(**given, norm_adv_by_std_in_grpo=by_std)
        assert torch.allclose(ours, verls)
        assert ours.any()


def test_a_row_that_is_its_own_group_teaches_nothing() -> None:
    """Simia's trainer gave every row an id of its own, and verl then takes the raw reward for the advantage."""
    rewards = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    grouped = batch([("task", reward, PLAYED) for reward in rewards])
    each_its_own = batch([(f"row {n}", reward, PLAYED) for n, reward in enumerate(rewards)])
    verls, _ = core_algos.compute_grpo_outcome_advantage(
        **{name: each_its_own[name] for name in ("token_level_rewards", "response_mask", "index")}
    )
    assert scores(verls, each_its_own["response_mask"]) == pytest.approx(rewards)  # the bug
    ours, _ = group_advantage(**each_its_own)
    assert not ours.any()
    found = scores(group_advantage(**grouped)[0], grouped["response_mask"])
    assert [round(one, 2) for one in found] == [1.21, -0.72, 1.21, -0.72, -0.72, 1.21, -0.72, -0.72]


def test_equal_rewards_have_no_advantage() -> None:
    for size in (2, 3, 5, 7, 8, 16, 33):
        given = batch([(f"{value}", value / 10, PLAYED) for value in range(1, 11) for _ in range(size)])
        assert not group_advantage(**given)[0].any()


@pytest.mark.parametrize("mode", ["token-mean", "seq-mean-token-sum", "seq-mean-token-mean"])
def test_the_loss_is_that_of_a_batch_without_the_rows_that_do_not_count(mode: str) -> None:
    """What the actor's loss makes of it, with the denominators as verl's engine gives them."""

    def loss(rows: list[tuple[str, float, list[int]]], counting: list[bool]) -> float:
        given = batch(rows)
        advantages, _ = group_advantage(**given, config={"loss_agg_mode": mode})
        mask = given["response_mask"] * torch.tensor(counting).long().unsqueeze(-1)  # as the sampler leaves it
        torch.manual_seed(0)
        ratio = torch.rand(3)  # the same for each row
        return float(
            core_algos.agg_loss(
                -advantages * ratio, mask, mode, batch_num_tokens=int(mask.sum()), global_batch_size=len(rows)
            )
        )

    teaching = [name in "ac" and not math.isnan(reward) for name, reward, _ in MIXED]
    whole = loss([("a", 1.0, [1, 1, 1]), *MIXED], [True, *teaching])
    without = [row for row, counts in zip(MIXED, teaching, strict=True) if counts]
    alone = loss([("a", 1.0, [1, 1, 1]), *without], [True] * (1 + len(without)))
    assert whole == pytest.approx(alone)
    assert abs(alone) > 0.01


@pytest.mark.parametrize("mode", ["token-mean", "seq-mean-token-sum", "seq-mean-token-mean"])
def test_a_minibatch_in_which_every_token_is_masked_has_no_loss(mode: str) -> None:
    """If the first assertion fails, verl does without `patches.loss_of_nothing`: remove it."""
    nothing = torch.zeros(2, 3, dtype=torch.long)
    verls = core_algos.agg_loss.__wrapped__(torch.ones(2, 3), nothing, mode, batch_num_tokens=0)
    assert verls.isnan() or mode != "token-mean"
    values = torch.tensor([[1.0, NAN, 2.0]] * 2, requires_grad=True)
    loss = core_algos.agg_loss(values, nothing, mode, batch_num_tokens=0, global_batch_size=2)
    loss.backward()
    assert float(loss.detach()) == 0
    assert values.grad is not None
    assert not values.grad.any()
