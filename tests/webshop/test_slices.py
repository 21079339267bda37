"""A click or a search is settled by the session, the products on the screen and the search engine's answer."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from simia_gym.assembly.suite import Suite
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.envs.webshop import screen
from simia_gym.envs.webshop.build import FOLDER
from simia_gym.evaluation.slice_check import call_problems, declaration_problems
from simia_gym.state import State
from simia_gym.types import Task, ToolCall

from .conftest import Play

SMALL = 20_000


def check_call(domain: Domain, state: State, call: ToolCall) -> State:
    """Compare slice and whole; give the state after the call."""
    transition, problems = call_problems(domain, state, call)
    assert problems == [], call
    assert domain.slicer(call.name)(state, call).size < SMALL
    after = transition.state or state
    assert dict(domain.extras(after)) == dict(transition.info)
    assert domain.world is not None
    terse, told = transition.observation, domain.world.call(state, call, "explain").observation
    assert told == terse if transition.outcome == "ok" else told.startswith("Error: ") and told.endswith(terse)
    return after


def test_the_experts_visits(suite: Suite, play: Play) -> None:
    domain, seen = suite.domain, set()
    for task in [*suite.tasks[:60], *suite.tasks[-60:]]:
        played = play("expert", task, 0)
        state = domain.prepare(task).initial
        assert domain.opening(state, task) == screen.page(state)
        for event in played.episode.ledger.events:
            made = event.get("call")
            if made is not None:
                state = check_call(domain, state, ToolCall(made["name"], made["arguments"]))
                seen.add(state.at("/session/main/page"))
        state = domain.prepare(task).initial
        for item in task.gold:
            state = check_call(domain, state, ToolCall(item["name"], item["arguments"]))
    assert seen >= {"results", "item", "features", "end"}


@given(seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_any_walk(suite: Suite, seed: int) -> None:
    rng, domain = random.Random(seed), suite.domain
    task: Task = rng.choice(suite.tasks)
    state = domain.prepare(task).initial
    schema = domain.state_schema
    assert schema is not None
    for _ in range(20):
        clickables = domain.extras(state)["clickables"]
        call = ToolCall("click", {"value": rng.choice([*clickables, "nowhere", "Buy Now", "< PREV", "features"])})
        if rng.random() < 0.3:
            call = ToolCall("search", {"keywords": rng.choice(["Mug ", "red tea", "unheard", "", "lamp shade"])})
        state = check_call(domain, state, call)
        assert list(schema.problems(state, [("session", "main")])) == []


def test_search_anywhere_runs_on_a_slice() -> None:
    domain = load_domain(FOLDER, {"search_anywhere": True})
    state = domain.base
    for words in ("mug", "tea", "mug", "unheard of", "lamp"):
        state = check_call(domain, state, ToolCall("search", {"keywords": words}))


def test_what_a_slice_holds(suite: Suite) -> None:
    domain = suite.domain
    search = ToolCall("search", {"keywords": "Travel Mug"})
    part = domain.slicer("search")(domain.base, search)
    assert list(part.tables) == ["session", "hits", "products"]
    found = part.tables["hits"]["travel mug"]["asins"]
    assert len(found) == 50
    assert list(part.tables["products"]) == found[:10]
    assert all(set(row) == {"asin", "title", "price_tag"} for row in part.tables["products"].values())
    assert list(declaration_problems(domain)) == []
