"""The domain as a whole: who gets what reward, and how the expert gets it."""

from __future__ import annotations

import itertools
import re
import statistics

from simia_gym.assembly.suite import Suite
from simia_gym.envs.webshop.expert import read_page
from simia_gym.episode import Episode
from simia_gym.types import Calls, Task

from .conftest import Play


def reward(episode: Episode) -> float:
    assert episode.verdict is not None
    assert episode.verdict.reward is not None
    return episode.verdict.reward


def test_expert_gets_the_highest_reward_by_what_it_was_told(suite: Suite, play: Play) -> None:
    """Clicks name what the last page lists; searches use words of the request."""
    for task in suite.tasks:
        episode = play("expert", task, 0)
        assert reward(episode) == 1.0, task.id
        messages = episode.messages
        known = set(re.split(r"[\s.,:]+", messages[1]["content"]))
        for before, message in itertools.pairwise(messages):
            if message["role"] == "assistant":
                action = suite.domain.grammar.parse(message["content"])
                assert isinstance(action, Calls)
                (call,) = action.calls
                if call.name == "click":
                    assert call.arguments["value"] in read_page(before["content"]).clickables
                else:
                    assert set(re.split(r"[\s.,:]+", call.arguments["keywords"])) <= known


def test_random_clicks_are_worth_little(suite: Suite, play: Play) -> None:
    rewards = [reward(play("random", task, seed)) for seed in (1, 2) for task in suite.tasks]
    assert len(rewards) == 720
    assert statistics.mean(rewards) < 0.1
    assert max(rewards) > 0


def test_expert_falls_back_to_the_best_that_it_saw(suite: Suite, play: Play) -> None:
    """A request that nothing meets: it still buys, within the turns."""
    for task in list(suite.tasks)[:40]:
        assert task.instruction is not None
        text = task.instruction.replace(" should be ", " should be made on the moon, ").replace(
            " should have ", " should have lunar dust, "
        )
        setup = ({**task.setup[0], "value": text},)
        strange = Task(task.id, task.split, task.kind, text, setup, options=task.options)
        episode = play("expert", strange, 0)
        assert episode.ended == "purchase"
        assert reward(episode) > 0
