# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""The shop: search and clicks over a session that lies wholly in the state.

The table ``products`` is read only. The one row of ``session`` says which page is open and what the last search found,
so that a click is settled by the session and the products on the screen. The search itself asks the index, or the
table ``hits`` where a slice of the state brings the search engine's answer along.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simia_gym.domain.tools import DeclaredError, tool
from simia_gym.domain.world import World
from simia_gym.envs.webshop import pages, screen
from simia_gym.envs.webshop.pages import BACK, BUY, NEXT, PREVIOUS, START, SUB_PAGES, Part
from simia_gym.envs.webshop.search import index_of, normalised
from simia_gym.errors import ToolError
from simia_gym.state import Draft, State
from simia_gym.types import JsonObject, Row, Task

PAGE: JsonObject = {"view": "simia_gym.envs.webshop.screen:rows", "table": "products"}
HITS: JsonObject = {"view": "simia_gym.envs.webshop.search:hits", "table": "hits"}
RENDER = "simia_gym.envs.webshop.screen:render"
EMPTY = DeclaredError("empty_keywords", "The keywords are empty.")
NO_BAR = DeclaredError("no_search_bar", "This page has no search bar.")
NOT_CLICKABLE = DeclaredError("not_clickable", "'{value}' cannot be clicked here.")


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

    @tool(
        effect="write",
        reads=("session/main", HITS, PAGE),
        writes=("session/main",),
        render=RENDER,
        render_errors=True,
        always_changes=True,
        errors=(EMPTY, NO_BAR),
    )
    def search(self, db: Draft, keywords: str) -> None:
        """Type keywords into the search bar and look at the results.

        Works on pages that have a search bar. Finds at most 50 products, 10 on a page.

        Args:
            keywords: The words to search for.
        """
        words = normalised(keywords)
        if not words:
            why = "A search needs at least one word. Search for the words that matter in the instruction."
            raise ToolError("The keywords are empty.", "empty_keywords", why)
        session = screen.session_of(db.state)
        if session["page"] != "start" and (not self._search_anywhere or session["bought"]):
            raise ToolError("This page has no search bar.", "no_search_bar", _why_no_search(session))
        row = db.get("hits", words)
        found = index_of(db.state).results(words) if row is None else row["asins"]
        db.put("session", "main", {**session, **START, "page": "results", "keywords": words, "results": found})

    @tool(
        effect="write",
        reads=("session/main", PAGE),
        writes=("session/main",),
        render=RENDER,
        render_errors=True,
        always_changes=True,
        errors=(NOT_CLICKABLE,),
    )
    def click(self, db: Draft, value: str) -> None:
        """Press a button or a link, or choose an option, by its name.

        Works for the names that the page lists as clickable. "buy now" buys the product whose page is open, with the
        options chosen so far, and ends the visit.

        Args:
            value: The name as the page lists it; upper and lower case are the same.
        """
        name = value.lower()
        session = screen.session_of(db.state)
        part = screen.part(db.state, session)
        if part is None or name not in part.clickables or name == pages.SEARCH:
            raise ToolError(f"{value!r} cannot be clicked here.", "not_clickable", _why_no_click(part))
        # Put and not edited: of the row's lists only those that change are copied.
        db.put("session", "main", {**session, **_pressed(session, name, part)})

    def opening(self, db: Draft, task: Task) -> str:
        """Give the start page."""
        return screen.render(db.state)

    def info(self, state: State) -> Mapping[str, Any]:
        """Give what can be done on the open page: ``has_search_bar`` and ``clickables``."""
        return screen.info(state)


def _why_no_search(session: Mapping[str, Any]) -> str:
    if session["bought"]:
        return "Something was bought, and the visit is over."
    return f"Only the start page has a search bar. Click {BACK!r} first."


def _why_no_click(part: Part | None) -> str:
    if part is None:
        return "Nothing on this page can be clicked."
    return f"Only what the page lists can be clicked: {', '.join(map(repr, part.clickables))}."


def _pressed(session: Row, name: str, part: Part) -> JsonObject:
    """What a click on something clickable changes; the order of the cases is the published one."""
    page = session["page"]
    if name == BUY:
        return {"page": "end", "bought": True}
    if name == BACK:
        return START
    if name == NEXT and page == "results":
        return {"number": session["number"] + 1}
    if name == PREVIOUS and page == "results":
        return {"number": session["number"] - 1}
    if name == PREVIOUS and page == "item":
        return {"page": "results", "asin": None, "options": {}}
    if name == PREVIOUS:
        return {"page": "item"}
    if name in SUB_PAGES and page == "item":
        return {"page": name}
    if page == "results":
        return {"page": "item", "asin": name.upper(), "options": {}}
    return {"options": {**session["options"], part.targets[name]: name}}
