"""Renders the open page of a session from the state.

The world and the tools' rendering rule share this module. A page needs only the session and a few columns of a few
products, so that it can also be rendered from a state slice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from simia_gym.envs.webshop import pages
from simia_gym.envs.webshop.pages import SUB_PAGES, Part, window
from simia_gym.envs.webshop.search import hits
from simia_gym.state import State
from simia_gym.state.table import Table
from simia_gym.types import Row, Task, ToolCall

_RESULT = ("asin", "title", "price_tag")
_ITEM = (*_RESULT, "rating", "options")
_COLUMNS = {"description": "description", "features": "bullets", "reviews": "reviews"}
_REMEMBERED = 2_048


def render(state: State, cause: Task | ToolCall | None = None) -> str:
    """The text of the open page.

    Args:
        state: The state, or a slice of it that holds what the page shows.
        cause: The task or call that led to the page, which does not depend on it.

    Raises:
        LookupError: The state lacks something that the page shows.
    """
    session = session_of(state)
    if session["page"] == "start":
        return pages.start_page(session["instruction"])
    if session["bought"]:
        return pages.end_page(session["asin"], session["options"])
    shown = part(state, session)
    return pages.head(session["instruction"]) + (shown.text if shown is not None else "")


def info(state: State) -> Mapping[str, Any]:
    """The available actions on the open page: ``has_search_bar`` and ``clickables``."""
    session = session_of(state)
    if session["page"] == "start":
        return pages.available((pages.SEARCH,), search_bar=True)
    try:
        shown = part(state, session)
    except LookupError:  # a page of something that is not there, as only a model writes it
        shown = None
    return pages.available(() if shown is None else shown.clickables)


def session_of(state: State) -> Row:
    """The session's row."""
    row = state.get("session", "main")
    if row is None:
        raise LookupError("there is no row main in the table session")
    return row


def part(state: State, session: Row) -> Part | None:
    """The part of the open page after the instruction; ``None`` on the start page and the last page."""
    kind, products = session["page"], state.table("products")
    if kind == "results":
        return _results(products, tuple(session["results"] or ()), session["number"])
    return _of_product(products, session["asin"], kind) if kind in ("item", *SUB_PAGES) else None


# States share the tables that have not changed.
@lru_cache(_REMEMBERED)
def _results(products: Table | None, found: tuple[str, ...], number: int) -> Part:
    shown = {asin: _product(products, asin) for asin in window(found, number)}
    return pages.results_part(found, shown, number)


@lru_cache(_REMEMBERED)
def _of_product(products: Table | None, asin: str, kind: str) -> Part:
    product = _product(products, asin)
    return pages.item_part(product) if kind == "item" else pages.sub_part(product, kind)


def rows(state: State, call: ToolCall) -> dict[str, Row]:
    """The products on the page before or possibly after a call of ``search`` or ``click``, with the columns shown."""
    session = session_of(state)
    kind, number, asin = session["page"], session["number"], session["asin"]
    found: Sequence[str] = session["results"] or ()
    columns: dict[str, tuple[str, ...]] = {}
    if call.name == "search":
        for answer in hits(state, call).values():
            columns.update(dict.fromkeys(window(answer["asins"], 1), _RESULT))
    value = str(call.arguments.get("value", ""))
    if kind == "results":
        near = (number - 1, number, number + 1) if call.name == "click" else (number,)
        for each in near:
            columns.update(dict.fromkeys(window(found, each), _RESULT))
        if value.upper() in window(found, number):
            columns[value.upper()] = _ITEM
    elif kind == "item":
        columns.update(dict.fromkeys(window(found, number), _RESULT))
        wanted = _COLUMNS.get(value.lower())
        columns[asin] = _ITEM if wanted is None else (*_ITEM, wanted)
    elif kind in SUB_PAGES:
        columns[asin] = (*_ITEM, _COLUMNS[kind])
    products = state.table("products")
    return {key: {name: _product(products, key)[name] for name in names} for key, names in columns.items()}


def _product(products: Table | None, asin: str) -> Row:
    row = None if products is None else products.get(asin)
    if row is None:
        raise LookupError(f"there is no product {asin!r}")
    return row
