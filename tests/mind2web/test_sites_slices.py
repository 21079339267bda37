"""Slices: small, enough for the world, and enough for a reader who knows nothing but their JSON."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.domain.tasks import gold_calls
from simia_gym.envs.mind2web import screen
from simia_gym.envs.mind2web.browser.tree import text
from simia_gym.envs.mind2web.browser.values import is_field
from simia_gym.envs.mind2web.sites import loading
from simia_gym.envs.mind2web.sites.loading import add_site, sites
from simia_gym.envs.mind2web.sites.rows import account_rows, catalogue_rows
from simia_gym.envs.mind2web.sites.spec import Site
from simia_gym.envs.mind2web.state import tables_of
from simia_gym.evaluation.slice_check import call_problems
from simia_gym.state import State
from simia_gym.types import Task, ToolCall
from tests.mind2web.slice_reader import operations

MOST = 12_000


@cache
def domain() -> Domain:
    return load_domain(domain_path("simia/mind2web-v0"))


def checked(state: State, call: ToolCall) -> State:
    """The state after a call, whose slice is small enough and says what the call does."""
    whole, problems, _ = call_problems(domain(), state, call)
    assert problems == []
    seen = domain().slicers[call.name](state, call)
    assert seen.size < MOST, seen.encoded.decode()
    assert whole.state is not None
    if whole.outcome == "ok":
        made = operations(orjson.loads(seen.encoded), call.name, call.arguments)
        read = state.apply(made)
        assert read.touched_since(whole.state) == [], (made, whole.ops)
    after: State = whole.state
    return after


TASKS = [task for split in ("train", "test") for task in domain().tasks[split]]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
@pytest.mark.sampled
def test_a_reader_of_the_slice_alone_makes_the_operations_of_all_gold_calls(task: Task) -> None:
    state = domain().begun(task)
    for call in gold_calls(task):
        state = checked(state, call)


def begun(site: Site, theme: str, seed: int, **session: Any) -> State:
    catalogue = catalogue_rows(site)
    tables = {**tables_of([site]), "account": account_rows(site, random.Random(seed), catalogue)}
    return State.from_tables({**tables, "session": {"main": {**screen.new_session(site, "", theme, seed), **session}}})


def drawn(state: State, rng: random.Random) -> ToolCall:
    """Something that a visitor may do, filling in forms more often than leaving them."""
    session = screen.session_of(state)
    opened = screen.open_page(state, session)
    nodes = screen.choices_of(opened, session).nodes
    fields = [(one, node) for one, node in nodes.items() if node.kind == "list" or is_field(node)]
    choice, node = rng.choice(fields if fields and rng.random() < 0.6 else [*nodes.items()])
    if node.kind == "list":
        value = text(rng.choice(opened.page.options(node.number))[0])
        return ToolCall("select", {"choice": choice, "value": value})
    if is_field(node):
        value = {"number": "3", "date": "2026-03-10", "email": "a@b.example"}.get(node.kind, "the")
        return ToolCall("type", {"choice": choice, "value": node.element.get("min") or value})
    forms = [one for one, each in nodes.items() if each.kind == "submit" and len(opened.page.controls[each.form]) > 1]
    return ToolCall("click", {"choice": rng.choice(forms) if forms and rng.random() < 0.5 else choice})


def walk(site: Site, theme: str, seed: int, actions: int) -> Iterator[tuple[State, ToolCall]]:
    state, rng = begun(site, theme, seed), random.Random(seed)
    for _ in range(actions):
        call = drawn(state, rng) if rng.random() < 0.95 else ToolCall("more", {})
        yield state, call
        after = domain().world
        assert after is not None
        state = after.call(state, call).state or state


@pytest.mark.parametrize("site", sites().values(), ids=list(sites()))
@pytest.mark.sampled
def test_slices_suffice_wherever_one_goes(site: Site) -> None:
    for seed, theme in enumerate(("plain", "cards", "tight", "open")):
        for state, call in walk(site, theme, seed, 20):
            checked(state, call)


@pytest.mark.parametrize("theme", ["plain", "cards"])
def test_a_slice_stays_small_with_a_large_catalogue(theme: str, tmp_path: Path) -> None:
    given = Path(loading.__file__).with_name("library.yaml").read_text(encoding="utf-8")
    path = tmp_path / "library.yaml"
    path.write_text(given.replace("rows: 60", "rows: 300").replace("{adjective} {noun}", "{adjective} {noun} {noun}"))
    site = add_site(path)
    query = [["title", "the"], ["page", "3"]]
    state = begun(site, theme, 1, path="/results", query=query)
    assert state.count("catalogue") > 300
    letters = screen.choices_of(screen.open_page(state, screen.session_of(state)), screen.session_of(state)).nodes
    for letter in letters:
        checked(state, ToolCall("click", {"choice": letter}))


@pytest.mark.parametrize("task", TASKS[:3], ids=lambda task: task.id)
def test_a_model_plays_only_what_changes_tables(task: Task) -> None:
    world, state = domain().world, domain().begun(task)
    assert world is not None
    for call in gold_calls(task):
        after = world.call(state, call).state
        assert after is not None
        changes = [key for table, key in after.touched_since(state) if table == "account"]
        assert world.route(state, call) == ("llm" if changes else "world")
        state = after
