"""Renders the open page of a session from the state.

The world and the tools' rendering rule share this module. A page needs only the session and a few columns of a few
products, so that it can also be rendered from a state slice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.envs.webshop import pages
from simia_gym.envs.webshop.pages import PER_PAGE, SUB_PAGES, Part
from simia_gym.envs.webshop.search import hits
from simia_gym.state import State
from simia_gym.types import Row, Task, ToolCall

_RESULT = ("asin", "title", "price_tag")
_ITEM = (*_RESULT, "rating", "options")
_COLUMNS = {"description": "description", "features": "bullets", "reviews": "reviews"}
_REMEMBERED = 2_048

# Rows and tables are immutable, and states share unchanged ones; keeping a reference keeps the ids in the keys valid.
_parts: dict[tuple[object, ...], tuple[object, Part]] = {}


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
    shown = part(state, session)
    return pages.available(() if shown is None else shown.clickables)


def session_of(state: State) -> Row:
    """The session's row."""
    row = state.get("session", "main")
    if row is None:
        raise LookupError("there is no row main in the table session")
    return row


def part(state: State, session: Row) -> Part | None:
    """The part of the open page after the instruction; ``None`` on the start page and the last page."""
    kind = session["page"]
    if kind == "results":
        found, number, table = session["results"], session["number"], state.table("products")
        key = (number, id(found), id(table))
        return _remembered(key, (found, table), lambda: _results(state, found, number))
    if kind == "item":
        product = _product(state, session["asin"])
        return _remembered(("item", id(product)), product, lambda: pages.item_part(product))
    if kind in SUB_PAGES:
        product = _product(state, session["asin"])
        return _remembered((kind, id(product)), product, lambda: pages.sub_part(product, kind))
    return None


def _results(state: State, found: Sequence[str], number: int) -> Part:
    return pages.results_part(found, {asin: _product(state, asin) for asin in window(found, number)}, number)


def window(found: Sequence[str], number: int) -> Sequence[str]:
    """The results that one page shows."""
    return found[max(number - 1, 0) * PER_PAGE : number * PER_PAGE]


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
    return {key: _only(state, key, names) for key, names in columns.items()}


def _only(state: State, asin: str, names: Sequence[str]) -> Row:
    product = _product(state, asin)
    return {name: product[name] for name in names}


def _product(state: State, asin: str) -> Row:
    row = state.get("products", asin)
    if row is None:
        raise LookupError(f"there is no product {asin!r}")
    return row


def _remembered(key: tuple[object, ...], holds: object, make: Any) -> Part:
    known = _parts.get(key)
    if known is None:
        if len(_parts) >= _REMEMBERED:
            _parts.clear()
        known = _parts[key] = (holds, make())
    return known[1]
