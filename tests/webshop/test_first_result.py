"""The floor: what is earned by buying the first result."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Literal

import pytest

from simia_gym.assembly.suite import Suite
from simia_gym.common.event_loop import run_sync
from simia_gym.rollout.play import play
from simia_gym.types import Task


def played(suite: Suite, tasks: Sequence[Task]) -> list[tuple[float, list[str]]]:
    """The reward and the actions of each task."""
    found = []
    for seed, task in enumerate(tasks):
        episode = suite.episode()
        run_sync(play(episode, task, seed=seed, policy=suite.load_policy("first_result")()), inline=episode.inline)
        assert episode.verdict is not None
        assert episode.verdict.reward is not None
        said = [str(message["content"]) for message in episode.shown if message["role"] == "assistant"]
        found.append((episode.verdict.reward, said))
    return found


@pytest.mark.parametrize("split", ["train", "test"])
def test_buying_the_first_result_earns_much_of_the_reward_and_little_success(
    suite: Suite, split: Literal["train", "test"]
) -> None:
    rewards = [reward for reward, _ in played(suite, suite.domain.tasks[split][:60])]
    assert 0.6 < mean(rewards) < 0.75
    assert mean(reward == 1 for reward in rewards) <= 0.25


def test_it_searches_for_the_request_opens_the_first_product_and_buys(suite: Suite) -> None:
    task = suite.domain.tasks["test"][0]
    [(_, (search, click, buy))] = played(suite, [task])
    assert search == f"search[{task.instruction}]"
    assert click.startswith("click[b0")
    assert buy == "click[buy now]"
