"""The domain as a whole: who gets what reward, and how the expert gets it."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from simia_gym.assembly.suite import Suite
from simia_gym.envs.webshop.catalogue.request_reading import Request
from simia_gym.envs.webshop.expert import TURNS, Candidate, WebShopExpert, read_page
from simia_gym.envs.webshop.goals import Goal
from simia_gym.envs.webshop.scoring import best_purchase
from simia_gym.types import Calls, JsonObject, Task

Play = Callable[[str, Task, int], Any]


def test_suite_has_the_promised_tasks(suite: Suite) -> None:
    assert [len(suite.domain.tasks[split]) for split in ("train", "test")] == [40, 20]
    assert len(suite.tasks) == 360
    assert suite.domain.config.max_turns == TURNS == 15
    assert "15 actions" in suite.domain.policy


def test_expert_gets_the_highest_reachable_reward(suite: Suite, play: Play, products: Mapping[str, JsonObject]) -> None:
    for task in suite.tasks:
        best = best_purchase(Goal.from_json(task.options["goal"]), products.values())
        assert play("expert", task, 0).last.reward == best.reward, task.id


def test_expert_is_causal(suite: Suite, play: Play) -> None:
    """Clicks name what the last page lists; searches use words of the request."""
    for task in list(suite.tasks)[:120]:
        messages = play("expert", task, 0).episode.messages
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


@pytest.mark.parametrize("name", ["null", "claimer"])
def test_doing_nothing_is_worth_nothing(name: str, suite: Suite, play: Play) -> None:
    assert {play(name, task, seed).last.reward for seed, task in enumerate(list(suite.tasks)[:80])} == {0.0}


def test_random_clicks_are_worth_little(suite: Suite, play: Play) -> None:
    rewards = [play("random", task, seed).last.reward for seed in (1, 2) for task in suite.tasks]
    assert len(rewards) == 720
    assert statistics.mean(rewards) < 0.1
    assert max(rewards) > 0


def test_same_seed_same_bytes(suite: Suite, play: Play) -> None:
    task = suite.tasks[3]
    for name in ("expert", "random"):
        one, other = play(name, task, 5), play(name, task, 5)
        assert one.episode.ledger.head == other.episode.ledger.head
        assert one.episode.messages == other.episode.messages


def test_episode_shows_what_can_be_done(suite: Suite, play: Play) -> None:
    last = play("expert", suite.tasks[0], 0).last
    assert last.info["world"] == {"has_search_bar": False, "clickables": []}


def test_expert_falls_back_to_the_best_that_it_saw(suite: Suite, play: Play) -> None:
    """A request that nothing meets: it still buys, within the turns."""
    for task in list(suite.tasks)[:40]:
        assert task.instruction is not None
        text = task.instruction.replace(" should be ", " should be made on the moon, ").replace(
            " should have ", " should have lunar dust, "
        )
        setup = ({**task.setup[0], "value": text},)
        strange = Task(task.id, task.split, task.kind, text, setup, options=task.options)
        last = play("expert", strange, 0).last
        assert last.info["ended"] == "purchase"
        assert last.reward > 0


def test_expert_weighs_what_it_knows() -> None:
    request = Request("table lamp", ("dimmable", "usb port"), {"color": "red"}, 30.0)
    item = Candidate("b1", "norvane table lamp, dimmable", (25.0, 35.0))
    assert item.price_fits(request) == 0.5
    assert item.merit(request, 1.0) == 3.5
    item.options, item.features = {"color": ["blue"]}, "a usb port."
    assert item.merit(request, 1.0) == 2.5
    assert item.has("pull chain") is False
    assert Candidate("b2", "pillow", (1.0,)).merit(request, 0.0) == 0.25


def test_expert_starts_anew_with_each_episode(suite: Suite) -> None:
    expert = WebShopExpert()
    actions = []
    for task in list(suite.tasks)[:2]:
        page = f"WebShop [SEP] Instruction: [SEP] {task.instruction} [SEP] Search"
        actions.append(expert.act([{"role": "system", "content": ""}, {"role": "user", "content": page}]))
    assert actions[0] != actions[1]
    assert all(action.startswith("search[") for action in actions)
