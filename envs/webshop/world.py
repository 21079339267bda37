# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""The shop: search and clicks over a session that lies wholly in the state.

The table ``products`` is read only. The one row of ``session`` says which page is open, so what an action brings about
follows from the state and the action alone; search results are worked out again from the keywords, and remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from simia_gym.envs.webshop import pages
from simia_gym.envs.webshop.pages import BACK, BUY, NEXT, PREVIOUS, SUB_PAGES, Part
from simia_gym.envs.webshop.search import SearchIndex
from simia_gym.errors import ToolError
from simia_gym.state import Draft, State
from simia_gym.tools import tool
from simia_gym.types import Row, Task, ToolCall, Transition
from simia_gym.world import World, error_transition

_KEPT = 4


class Shelves:
    """The products of one state, with their index and pages, each made when first asked for.

    Args:
        products: Rows by id, in catalogue order.
    """

    def __init__(self, products: Mapping[str, Row]) -> None:
        self.products = products
        self._index: SearchIndex | None = None
        self._items: dict[str, Part] = {}
        self._subs: dict[tuple[str, str], Part] = {}
        self._results: dict[tuple[str, int], Part] = {}

    def results(self, keywords: str, number: int) -> Part:
        """A page of search results."""
        part = self._results.get((keywords, number))
        if part is None:
            if self._index is None:
                self._index = SearchIndex(self.products.items())
            if len(self._results) >= 4_096:
                self._results.clear()
            part = pages.results_part(self._index.search(keywords), self.products, number)
            self._results[keywords, number] = part
        return part

    def item(self, asin: str) -> Part:
        """A product's page."""
        part = self._items.get(asin)
        if part is None:
            part = self._items[asin] = pages.item_part(self.products[asin])
        return part

    def sub(self, asin: str, page: str) -> Part:
        """A page behind a product's page."""
        part = self._subs.get((asin, page))
        if part is None:
            part = self._subs[asin, page] = pages.sub_part(self.products[asin], page)
        return part


class WebShopWorld(World):
    """The shop's code.

    Options:
        search_anywhere: Let a search run on every page, as the published text environment does, whose pages
            nevertheless say that they have no search bar. By default it needs the search bar.
    """

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(options)
        anywhere = self.options.get("search_anywhere", False)
        if not isinstance(anywhere, bool):
            raise ValueError(f"search_anywhere is {anywhere!r}; use true or false")
        self._search_anywhere = anywhere
        self._kept: list[tuple[object, Shelves]] = []

    @tool(effect="write", reads=("products", "session"), writes=("session/main",))
    def search(self, db: Draft, keywords: str) -> str:
        """Type keywords into the search bar and look at the results.

        Works on pages that have a search bar. Finds at most 50 products, 10 on a page.

        Args:
            keywords: The words to search for.
        """
        words = keywords.lower().strip()
        if not words:
            raise ToolError("The keywords are empty.", "empty_keywords")
        session = db.edit("session", "main")
        if session["page"] != "start" and (not self._search_anywhere or session["bought"]):
            raise ToolError("This page has no search bar.", "no_search_bar")
        session.update(page="results", keywords=words, number=1, asin=None, options={})
        return ""

    @tool(effect="write", reads=("products", "session"), writes=("session/main",))
    def click(self, db: Draft, value: str) -> str:
        """Press a button or a link, or choose an option, by its name.

        Works for the names that the page lists as clickable. "buy now" buys the product whose page is open, with the
        options chosen so far, and ends the visit.

        Args:
            value: The name as the page lists it; upper and lower case are the same.
        """
        session = db.edit("session", "main")
        shelves = self.shelves(db.state)
        name = value.lower()
        part = self._part(shelves, session)
        if part is None or name not in part.clickables or name == pages.SEARCH:
            raise ToolError(f"{value!r} cannot be clicked here.", "not_clickable")
        _press(session, name, part)
        return ""

    def call(self, state: State, call: ToolCall) -> Transition:
        """Run one call; the answer is always the page that is open afterwards, also when nothing happened."""
        transition = super().call(state, call)
        if transition.outcome == "error":
            info = self.info(state)
            return error_transition(self.observe(state), transition.error_code or "tool_error", info)
        after = cast(State, transition.state)
        return Transition(self.observe(after), transition.ops, info=transition.info, state=after)

    def opening(self, db: Draft, task: Task) -> str:
        """Give the start page."""
        return self.observe(db.state)

    def info(self, state: State) -> Mapping[str, Any]:
        """Give what can be done on the open page: ``has_search_bar`` and ``clickables``."""
        session = _session(state)
        if session["page"] == "start":
            return pages.available((pages.SEARCH,), search_bar=True)
        part = self._part(self.shelves(state), session)
        return pages.available(() if part is None else part.clickables)

    def observe(self, state: State) -> str:
        """The text of the open page.

        Args:
            state: The state.
        """
        session = _session(state)
        if session["page"] == "start":
            return pages.start_page(session["instruction"])
        if session["bought"]:
            return pages.end_page(session["asin"], session["options"])
        part = self._part(self.shelves(state), session)
        return pages.head(session["instruction"]) + (part.text if part is not None else "")

    def shelves(self, state: State) -> Shelves:
        """The products of a state with what was worked out from them; shared by all states with the same products."""
        table = state.table("products")
        for key, shelves in self._kept:
            if key is table:
                return shelves
        shelves = Shelves(dict(state.rows("products")))
        self._kept = [(table, shelves), *self._kept[: _KEPT - 1]]
        return shelves

    def _part(self, shelves: Shelves, session: Row) -> Part | None:
        page = session["page"]
        if page == "results":
            return shelves.results(session["keywords"], session["number"])
        if page == "item":
            return shelves.item(session["asin"])
        if page in SUB_PAGES:
            return shelves.sub(session["asin"], page)
        return None


def _session(state: State) -> Row:
    row = state.get("session", "main")
    assert row is not None
    return row


def _press(session: dict[str, Any], name: str, part: Part) -> None:
    """Change the session as a click on something clickable does; the order of the cases is the published one."""
    page = session["page"]
    if name == BUY:
        session.update(page="end", bought=True)
    elif name == BACK:
        session.update(page="start", keywords=None, number=1, asin=None, options={})
    elif name == NEXT and page == "results":
        session["number"] += 1
    elif name == PREVIOUS and page == "results":
        session["number"] -= 1
    elif name == PREVIOUS and page == "item":
        session.update(page="results", asin=None, options={})
    elif name == PREVIOUS:
        session["page"] = "item"
    elif name in SUB_PAGES and page == "item":
        session["page"] = name
    elif page == "results":
        session.update(page="item", asin=name.upper(), options={})
    else:
        session["options"][part.targets[name]] = name
