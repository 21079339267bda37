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
from simia_gym.envs.mind2web.work.expert import call_of, right
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
from simia_gym.envs.mind2web.work.position import Move
from simia_gym.envs.mind2web.work.reading import read_page, read_prompt
from simia_gym.envs.mind2web.work.sentences import Sentences
from simia_gym.errors import InputError
from simia_gym.state import State
from simia_gym.types import Split, Task, ToolCall

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


@pytest.mark.slow
def test_the_expert_solves_tasks_from_where_random_actions_lead() -> None:
    assert _wandering(mixed()) >= 0.95 * len(mixed())


@pytest.mark.slow
def test_the_expert_solves_many_tasks_from_where_random_actions_lead() -> None:
    tasks = [generate(split, index) for index in range(150) for split in _SPLITS]
    assert _wandering(tasks) >= 0.95 * len(tasks)


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


def library(way: str, theme: str = "plain", seed: str = "seed") -> tuple[Task, State]:
    task = SiteTasks(sites()["library"]).task("own", "train", way, theme, random.Random(f"{way} {seed}"), {})
    return task, begun(task, domain())


def pressed(state: State, words: str) -> Move:
    """The click on a link or button with these words."""
    text = render(state)
    seen = read_page(read_prompt(text), sites()["library"])
    return next(Move("click", press.letter) for press in (*seen.menu, *seen.steps) if press.words == words)


def after(state: State, move: Move) -> State:
    return WORLD.call(state, call_of(move)).state or state


def test_of_two_wishes_both_may_come_first() -> None:
    _, state = library("both")
    assert right(render(state)) == {pressed(state, "My reservations"), pressed(state, "My profile")}


def test_a_field_that_nobody_wants_filled_is_emptied_by_the_menu() -> None:
    _, state = library("reserve_cheapest")
    field = next(
        field for field in read_page(read_prompt(render(state)), sites()["library"]).fields if field.kind == "text"
    )
    stray = after(state, Move("type", field.letter, "Lantern"))
    assert right(render(stray)) == {pressed(stray, "Search")}
    again = after(stray, pressed(stray, "Search"))
    assert right(render(again)) == right(render(state))


@pytest.mark.parametrize("way", ["reserve_at", "cancel_one", "keep_longer", "reserve_cheapest", "book_room"])
def test_who_has_pressed_the_button_and_gone_elsewhere_goes_to_look_and_ends(way: str) -> None:
    task, state = library(way)
    begin = state
    for call in task.gold:
        if state.table("account") is begin.table("account"):
            state = WORLD.call(state, ToolCall(call["name"], call["arguments"])).state or state
    away = after(state, pressed(state, "Rooms"))
    assert right(render(away)) == {pressed(away, "My profile" if way == "book_room" else "My reservations")}
    assert solves(task, begin, away)


@pytest.mark.parametrize("index", range(6))
def test_an_element_beyond_the_letters_makes_more_right(index: int) -> None:
    task = mixed()[index]
    begin = begun(task, domain())
    state = begin.apply([{"op": "replace", "path": "/session/main/choices", "value": 5}])
    shown = [move.choice for move in right(render(begin))]
    assert (right(render(state)) == {Move("more")}) == all(letter > "F" for letter in shown)
    assert solves(task, state, state, most=120)


def test_rows_of_the_account_are_nearly_alike_so_that_one_word_is_not_enough() -> None:
    alike = 0
    for seed in range(20):
        task, state = library("cancel_one", seed=str(seed))
        (op,) = task.goal or ()
        key = op["path"].removeprefix("/account/")
        own = state.get("account", key)
        assert own is not None
        begin = "library:reservations:"
        others = [row for other, row in state.rows("account") if other.startswith(begin) and other != key]
        alike += all(any(row[column] == own[column] for row in others) for column in ("book", "branch"))
    assert alike >= 15
