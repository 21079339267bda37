"""Own tasks: what is drawn, the expert, and the scores beside the reward."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import get_args

import pytest

from simia_gym.domain.tasks import task_to_json
from simia_gym.envs.mind2web.screen import render
from simia_gym.envs.mind2web.sites.loading import sites
from simia_gym.envs.mind2web.sites.spec import Kinds
from simia_gym.envs.mind2web.work.expert import right
from simia_gym.envs.mind2web.work.generate import (
    FEWEST,
    MOST,
    NEW_SITES,
    NEW_THEME,
    THIRDS,
    SiteTasks,
    generate,
    kinds_of,
)
from simia_gym.envs.mind2web.work.sentences import Sentences
from simia_gym.errors import InputError
from simia_gym.types import Split, Task

from .plays import WORLD, begun, domain, expert_call, solves, wandered

_SPLITS: Sequence[Split] = ("train", "test")


@cache
def mixed() -> list[Task]:
    return [generate(split, index) for index in range(30) for split in _SPLITS]


def test_fixed_tasks_are_of_ten_kinds_and_tests_come_in_thirds() -> None:
    train, test = domain().tasks["train"], domain().tasks["test"]
    assert len(train) == len(test) == 30
    assert len({task.kind for task in (*train, *test)}) == 10
    assert {task.options["site"] for task in train} == sites().keys() - set(NEW_SITES)
    assert {task.options["third"] for task in train} == {"known sites"}
    assert Counter(task.options["third"] for task in test) == dict.fromkeys(THIRDS, 10)
    assert {task.id for task in (*train, *test)} >= {"mind2web-train-000", "mind2web-test-029"}


def test_only_tests_have_new_sites_and_the_new_theme() -> None:
    for task in (*domain().tasks["train"], *domain().tasks["test"], *mixed()):
        new_site, new_theme = task.options["site"] in NEW_SITES, task.options["theme"] == NEW_THEME
        assert (new_site, new_theme) == {
            "known sites": (False, False),
            "new sites": (True, False),
            "new sites and theme": (True, True),
        }[task.options["third"]]


def test_tasks_of_all_kinds_of_all_sites_are_drawn_by_turns() -> None:
    for known in (True, False):
        ways = {(name, way) for name, site in sites().items() for way in site.kinds if (name in NEW_SITES) != known}
        assert {(maker.site.name, way) for maker, way in kinds_of(known)} == ways
        assert len(kinds_of(known)) == len(ways)
    assert {task.kind for task in mixed()} == set(get_args(Kinds))


def test_the_same_number_gives_the_same_bytes() -> None:
    for task in mixed()[:8]:
        again = generate(task.split, int(task.id[-6:]))
        assert json.dumps(task_to_json(again)) == json.dumps(task_to_json(task))
    with pytest.raises(InputError, match="out of range"):
        generate("train", -1)


def test_a_sentence_is_read_as_what_it_was_written_from() -> None:
    for task in mixed():
        site = sites()[task.options["site"]]
        asked = Sentences(site).read(task.instruction or "")
        assert asked.name == task.options["way"]


def test_tasks_have_three_to_twelve_actions_and_the_end_and_are_not_done_at_first() -> None:
    base = domain()
    for task in mixed():
        assert FEWEST <= len(task.gold) <= MOST
        state = begun(task, base)
        for op in task.goal or ():
            key = op["path"].removeprefix("/account/")
            assert state.get("account", key) != op["value"]
        assert bool(task.goal) != bool(task.criteria)


def test_the_expert_solves_tasks_from_the_start() -> None:
    base = domain()
    for task in mixed():
        assert solves(task, state := begun(task, base), state), task.id


def test_the_expert_solves_tasks_from_where_random_actions_lead() -> None:
    assert _wandering(mixed()) >= 0.95 * len(mixed())


@pytest.mark.slow
def test_the_expert_solves_a_thousand_tasks_and_as_many_after_random_actions() -> None:
    base = domain()
    tasks = [generate(split, index) for index in range(500) for split in _SPLITS]
    assert all(solves(task, state := begun(task, base), state) for task in tasks)
    assert _wandering(tasks) >= 950


def _wandering(tasks: Sequence[Task]) -> int:
    base = domain()
    count = 0
    for number, task in enumerate(tasks):
        begin = begun(task, base)
        count += solves(task, begin, wandered(begin, random.Random(number)))
    return count


@pytest.mark.parametrize("theme", ["plain", "cards", "tight", "open"])
def test_all_fields_that_are_still_empty_are_right(theme: str) -> None:
    task = SiteTasks(sites()["library"]).task("own", "train", "reserve_cheapest", theme, random.Random(theme), {})
    state = begun(task, domain())
    first = right(render(state))
    assert {move.tool for move in first} == {"select"} if theme in ("plain", "tight") else {"click"}
    assert len(first) == 2
    state = WORLD.call(state, expert_call(state)).state or state
    assert len(right(render(state))) == 1
    assert right(render(state)) < first
