from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia_gym.envs.webshop import screen
from simia_gym.envs.webshop.build import FOLDER
from simia_gym.envs.webshop.catalogue.catalogue import tables
from simia_gym.envs.webshop.catalogue.requests import generate
from simia_gym.envs.webshop.world import WebShopWorld
from simia_gym.state import State
from simia_gym.state.schema import read_state_schema
from simia_gym.types import JsonObject, ToolCall

BASE = State.from_tables(tables())
WORLDS = (WebShopWorld(), WebShopWorld())
SCHEMA = read_state_schema(FOLDER / "state.schema.json")


@given(seed=st.integers(0, 10_000), words=st.lists(st.sampled_from(["tea", "mug", "red", "x"]), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_a_walk_is_a_function_of_state_and_action(seed: int, words: list[str]) -> None:
    """Operations lead where the world says; another world object agrees; states stay valid; products never change."""
    rng = random.Random(seed)
    world, other = WORLDS
    state = BASE.apply(generate("train", seed).setup)
    for _ in range(25):
        actions = world.info(state)
        value = rng.choice([*actions["clickables"], "nowhere"]) if actions["clickables"] else "nowhere"
        call = ToolCall("click", {"value": value})
        if actions["has_search_bar"] and rng.random() < 0.8:
            call = ToolCall("search", {"keywords": " ".join(words)})
        transition = world.call(state, call)
        again = other.call(state, call)
        assert (again.observation, again.ops, again.outcome) == (
            transition.observation,
            transition.ops,
            transition.outcome,
        )
        assert transition.ops is not None
        after = state.apply(transition.ops)
        assert screen.page(after) == transition.observation
        if transition.state is None:
            assert transition.outcome == "error"
            assert transition.ops == ()
        else:
            assert after.touched_since(transition.state) == []
            assert all(table == "session" for table, _ in after.touched_since(BASE))
        assert list(SCHEMA.problems(after, [("session", "main")])) == []
        state = after


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
