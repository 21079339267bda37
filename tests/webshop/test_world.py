"""A click or a search is settled by the session, the products on the screen and the search engine's answer."""

from __future__ import annotations

from collections.abc import Mapping

from simia_gym.assembly.suite import Suite
from simia_gym.domain.loading import load_domain
from simia_gym.envs.webshop.catalogue.catalogue import tables
from simia_gym.envs.webshop.world import WebShopWorld
from simia_gym.evaluation.slice_check import declaration_problems
from simia_gym.state import State
from simia_gym.types import JsonObject, ToolCall

from ..domains.test_declarations import walk

BASE = State.from_tables(tables())


def test_search_anywhere_runs_on_a_slice(suite: Suite) -> None:
    domain = load_domain(suite.domain.folder, {"search_anywhere": True})
    calls = [ToolCall("search", {"keywords": words}) for words in ("mug", "tea", "mug", "unheard of", "lamp")]
    assert len(list(walk(domain, suite.tasks[0], calls))) == len(calls)


def test_what_a_slice_holds(suite: Suite) -> None:
    domain = suite.domain
    part = domain.slicers["search"](domain.base, ToolCall("search", {"keywords": "Travel Mug"}))
    assert list(part.tables) == ["session", "hits", "products"]
    found = part.tables["hits"]["travel mug"]["asins"]
    assert len(found) == 50
    assert list(part.tables["products"]) == found[:10]
    assert all(set(row) == {"asin", "title", "price_tag"} for row in part.tables["products"].values())
    assert list(declaration_problems(domain)) == []


def test_a_change_of_the_products_is_seen(products: Mapping[str, JsonObject]) -> None:
    """The index is remembered by the products, not by the world."""
    world = WebShopWorld()
    asin = next(iter(products))
    changed = BASE.apply([{"op": "replace", "path": f"/products/{asin}/title", "value": "Qwertz Thing"}])
    search = ToolCall("search", {"keywords": "qwertz"})
    assert "Total results: 0" in world.call(BASE, search).observation
    assert f"Total results: 1) [SEP] Next > [SEP] {asin} [SEP] Qwertz Thing" in world.call(changed, search).observation
    assert "Total results: 0" in world.call(BASE, search).observation
