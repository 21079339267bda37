"""Rows of a TRL dataset: what stands for an episode, and the way back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simia_gym.assembly.suite import Suite
from simia_gym.env import make_suite
from simia_gym.errors import InputError
from simia_gym.rl.for_trl.rollouts import EpisodesRollout
from simia_gym.rl.for_trl.rows import KEY
from simia_gym.types import Task


@pytest.fixture(scope="module")
def shop() -> Suite:
    return make_suite("simia/webshop-v0", {})


@pytest.fixture(scope="module")
def retail() -> Suite:
    return make_suite("simia/retail-v0", {"generated": 3})


def test_every_row_leads_back_to_its_task(retail: Suite) -> None:
    rollout = EpisodesRollout(retail)
    rows = rollout.rows()
    assert len(rows) == len(retail.tasks)
    found = [rollout.find(row[KEY]) for row in rows]
    assert [begin.task for begin in found] == list(retail.tasks)  # the generated ones, too
    assert [rollout.find_in_prompt(row["prompt"]) for row in rows] == found
    assert [row["environment"] for row in rows] == ["simia/retail-v0"] * len(rows)


def test_a_training_is_evaluated_on_rows_of_dev(retail: Suite) -> None:
    rollout = EpisodesRollout(retail)
    rows = rollout.rows(split="dev")
    assert [rollout.find(row[KEY]).task for row in rows] == list(retail.domain.tasks_of("dev"))
    with pytest.raises(InputError, match="Give tasks or a split"):
        rollout.rows(split="dev", tasks=retail.tasks)


def test_more_rows_than_tasks_come_with_other_seeds(shop: Suite) -> None:
    rollout = EpisodesRollout(shop)
    rows = rollout.rows(2 * len(shop.tasks))
    first, again = (rollout.find(rows[at][KEY]) for at in (0, len(shop.tasks)))
    assert first.task is again.task
    assert first.seed != again.seed
    assert first.group() != again.group()
    assert first.group(1) != first.group(2)


def test_several_environments_take_turns_and_each_task_comes_once(shop: Suite, retail: Suite) -> None:
    rollout = EpisodesRollout(shop, retail)
    rows = rollout.rows()
    assert [row["environment"] for row in rows[:4]] == ["simia/webshop-v0", "simia/retail-v0"] * 2
    assert len({row[KEY] for row in rows}) == len(rows) == len(shop.tasks) + len(retail.tasks)
    assert {rollout.find(row[KEY]).env for row in rows} == {"simia/webshop-v0", "simia/retail-v0"}


def test_tasks_of_ones_own_travel_whole(shop: Suite) -> None:
    mine = Task(id="mine", split="train", kind="odd", instruction="buy a lamp", options=dict(shop.tasks[0].options))
    row = EpisodesRollout(shop).rows(tasks=[mine])[0]
    found = EpisodesRollout(shop).find(row[KEY]).task
    assert (found.id, found.instruction, found.options) == ("mine", "buy a lamp", mine.options)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What is 2 + 2?", "dataset"),
        (None, "dataset"),
        (json.dumps({"env": "simia/os-v0", "task": "x", "seed": 1}), "it is for"),
        (json.dumps({"env": "simia/webshop-v0", "task": "nothing", "seed": 1}), "no task 'nothing'"),
    ],
)
def test_other_rows_are_refused(shop: Suite, text: Any, words: str) -> None:
    with pytest.raises(InputError, match=f"(?i){words}"):
        EpisodesRollout(shop).find(text)


def test_environments_are_named_once_and_at_least_one(shop: Suite) -> None:
    for suites in ([], [shop, shop]):
        with pytest.raises(InputError, match="environments"):
            EpisodesRollout(*suites)
    with pytest.raises(InputError, match="loaded already"):
        EpisodesRollout(shop, prompt="compact")
    with pytest.raises(InputError, match="rows"):
        EpisodesRollout(shop).rows(0)
