"""A click or a search is settled by the session, the products on the screen and the search engine's answer."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia_gym.assembly.suite import Suite
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.envs.webshop import screen
from simia_gym.envs.webshop.build import FOLDER
from simia_gym.envs.webshop.catalogue.catalogue import tables
from simia_gym.envs.webshop.world import WebShopWorld
from simia_gym.evaluation.slice_check import call_problems, declaration_problems
from simia_gym.state import State
from simia_gym.types import JsonObject, Task, ToolCall

SMALL = 20_000
BASE = State.from_tables(tables())


def check_call(domain: Domain, state: State, call: ToolCall) -> State:
    """Compare slice and whole, operations and state, terse and explained; give the state after the call."""
    transition, problems, _ = call_problems(domain, state, call)
    assert problems == [], call
    assert domain.slicer(call.name)(state, call).size < SMALL
    after = state.apply(transition.ops or ())
    assert after.touched_since(transition.state or state) == []
    assert all(table == "session" for table, _ in after.touched_since(state))
    assert screen.render(after) == transition.observation
    assert dict(domain.extras(after)) == dict(transition.info)
    assert domain.world is not None
    terse, told = transition.observation, domain.world.call(state, call, "explain").observation
    assert told == terse if transition.outcome == "ok" else told.startswith("Error: ") and told.endswith(terse)
    return after


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
    part = domain.slicer("search")(domain.base, ToolCall("search", {"keywords": "Travel Mug"}))
    assert list(part.tables) == ["session", "hits", "products"]
    found = part.tables["hits"]["travel mug"]["asins"]
    assert len(found) == 50
    assert list(part.tables["products"]) == found[:10]
    assert all(set(row) == {"asin", "title", "price_tag"} for row in part.tables["products"].values())
    assert list(declaration_problems(domain)) == []


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (ToolCall("buy", {}), "unknown_tool"),
        (ToolCall("click", {}), "invalid_arguments"),
        (ToolCall("click", {"value": 3}), "invalid_arguments"),
        (ToolCall("search", {"keywords": "x", "page": 2}), "invalid_arguments"),
    ],
)
def test_calls_that_do_not_fit(call: ToolCall, code: str) -> None:
    transition = WebShopWorld().call(BASE, call)
    assert transition.error_code == code
    assert transition.observation.startswith("WebShop [SEP] ")


def test_a_change_of_the_products_is_seen(products: Mapping[str, JsonObject]) -> None:
    """The index is remembered by the products, not by the world."""
    world = WebShopWorld()
    asin = next(iter(products))
    changed = BASE.apply([{"op": "replace", "path": f"/products/{asin}/title", "value": "Qwertz Thing"}])
    search = ToolCall("search", {"keywords": "qwertz"})
    assert "Total results: 0" in world.call(BASE, search).observation
    assert f"Total results: 1) [SEP] Next > [SEP] {asin} [SEP] Qwertz Thing" in world.call(changed, search).observation
    assert "Total results: 0" in world.call(BASE, search).observation
