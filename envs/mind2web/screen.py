"""The open page of a session: its tree, its choices under letters, and the prompt that shows it.

Everything follows from the state. What can be chosen, and under which letter, depends on the page alone, never on what
the task wants.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

from simia_gym.envs.mind2web.browser.names import name_of, names, role
from simia_gym.envs.mind2web.browser.page import Node, Page
from simia_gym.envs.mind2web.browser.requests import Pairs
from simia_gym.envs.mind2web.browser.themes import THEMES, Block, draw
from simia_gym.envs.mind2web.browser.values import Typed
from simia_gym.envs.mind2web.recorded.page import Page as RecordedPage
from simia_gym.envs.mind2web.sites.loading import find_site
from simia_gym.envs.mind2web.sites.pages import Found, Visit, blocks
from simia_gym.envs.mind2web.sites.rows import Shelf
from simia_gym.envs.mind2web.sites.spec import Site
from simia_gym.envs.mind2web.writing import PageText, released
from simia_gym.state import State
from simia_gym.state.table import Table
from simia_gym.types import JsonObject, Row, Task, ToolCall

NONE = "A"
LETTERS = "BCDEFGHIJKLMNOPQRSTUVWXYZ"
SHOWN_PAST, WORDS_A_CHOICE = 5, 10
_TEXTS = 64
_THEMES = {theme.name: theme for theme in THEMES}


def new_session(site: Site, request: str, theme: str, seed: int, *, asks: bool = False) -> JsonObject:
    """The row of a session that begins.

    Args:
        site: The site.
        request: The sentence of the task.
        theme: The name of the theme in which pages are drawn.
        seed: The order of rows follows from it.
        asks: Whether the task asks for an answer.
    """
    return {
        "request": request,
        "site": site.name,
        "theme": theme,
        "seed": seed,
        "asks": asks,
        "choices": len(LETTERS),
        "page": "whole",
        "path": site.start,
        "query": None,
        "typed": {},
        "first": 0,
        "past": [],
        "notice": "",
        "answer": None,
    }


class Opened:
    """A page that is open, whatever was typed on it.

    Attributes:
        page: The page.
        actable: The elements that can be acted on, in document order.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actable = page.actable()
        self._texts: dict[tuple[int, int, str, str], tuple[str, str]] = {}

    def line(self, node: Node) -> str:
        """An element as past actions name it: role and name."""
        return f"[{role(node)}]  {name_of(self.page, node)}"

    @cached_property
    def called(self) -> Mapping[int, str]:
        """The names of all elements that can be acted on, by number."""
        return names(self.page)

    def shown(self, session: Row) -> tuple[str, str]:
        """The text of the page, and the lines of the choices."""
        typed, first, most = session["typed"], session["first"], session["choices"]
        known = (first, most, session["page"], str(typed) if typed else "")
        found = self._texts.get(known)
        if found is None:
            if len(self._texts) >= _TEXTS:
                self._texts.clear()
            found = self._texts[known] = self._written(typed, first, most, session["page"])
        return found

    def _written(self, typed: Typed, first: int, most: int, page: str) -> tuple[str, str]:
        numbers = {node.number: place for place, node in enumerate(self.actable[first : first + most])}
        if page == "published":
            recorded = RecordedPage(released(self.page, typed), where=self.page.path)
            text, choices = recorded.pruned([str(number) for number in numbers])
        else:
            text, whole = self._text.written(typed, numbers)
            choices = [" ".join(one.split()[:WORDS_A_CHOICE]) for one in whole]
        return text, "\n".join([f"{letter}. {words}" for letter, words in zip(LETTERS, choices, strict=False)])

    @cached_property
    def _text(self) -> PageText:
        return PageText(self.page)


class Choices(NamedTuple):
    """What can be chosen now.

    Attributes:
        nodes: The elements by their letters, in document order.
        more: Whether there are others, which "none of the above" shows.
    """

    nodes: Mapping[str, Node]
    more: bool


def session_of(state: State) -> Row:
    """The session's row.

    Raises:
        LookupError: There is none.
    """
    row = state.get("session", "main")
    if row is None:
        raise LookupError("there is no row main in the table session")
    return row


def visit_of(session: Row) -> Visit:
    """Where the session stands."""
    return Visit(session["path"], _pairs(session["query"]), session["seed"])


def shelf_of(state: State, session: Row) -> Shelf:
    """The rows of the session's site."""
    return Shelf(find_site(session["site"]), state.table("catalogue"), state.table("account"))


def open_page(state: State, session: Row) -> Opened:
    """The open page.

    Args:
        state: The state, or a slice of it with the rows that the page shows.
        session: The session's row.

    Raises:
        LookupError: The state lacks something that the page shows.
    """
    path, query = session["path"], _pairs(session["query"])
    found = state.table("found")
    if found is not None:
        content = blocks(visit_of(session), shelf_of(state, session), _found_in(found))
        return _opened(content, session["theme"], path, query)
    catalogue, account = find_site(session["site"]).reads.get(path, (False, False))
    return _open(
        session["site"],
        state.table("catalogue") if catalogue else None,
        state.table("account") if account else None,
        path,
        query,
        session["seed"] if catalogue or account else 0,
        session["theme"],
    )


# States share the tables that have not changed, and many pages show no rows.
@lru_cache(maxsize=512)
def _open(
    site: str, catalogue: Table | None, account: Table | None, path: str, query: Pairs | None, seed: int, theme: str
) -> Opened:
    return _opened(blocks(Visit(path, query, seed), Shelf(find_site(site), catalogue, account)), theme, path, query)


def _opened(content: tuple[Block, ...], theme: str, path: str, query: Pairs | None) -> Opened:
    return Opened(Page(partial(draw, content, _THEMES[theme]), path, query))


def _found_in(found: Table) -> Found:
    def look(address: str) -> tuple[tuple[str, ...], int] | None:
        row = found.get(address)
        return None if row is None else (tuple(row["keys"]), row["total"])

    return look


def _pairs(query: Any) -> Pairs | None:
    return None if query is None else tuple([(name, value) for name, value in query])


def choices_of(opened: Opened, session: Row) -> Choices:
    """What can be chosen now, by letter."""
    first, most = session["first"], session["choices"]
    nodes = opened.actable[first : first + most]
    return Choices(dict(zip(LETTERS, nodes, strict=False)), len(opened.actable) > most)


def render(state: State, cause: Task | ToolCall | None = None) -> str:
    """The prompt that shows the open page.

    Args:
        state: The state, or a slice of it that holds what the page shows.
        cause: The task or call that led to the page, which does not depend on it.

    Raises:
        LookupError: The state lacks something that the page shows.
    """
    session = session_of(state)
    if session["answer"] is not None:
        return "The visit is over."
    opened = open_page(state, session)
    shown, lines = opened.shown(session)
    site = find_site(session["site"])
    notice = f"The browser refuses: {session['notice']}.\n" if session["notice"] else ""
    past = "\n".join(session["past"][-SHOWN_PAST:]) or "None"
    return (
        f"'''\n{shown}\n'''\n\nAbove is the open page of {site.title}. Do the next action of this task on it.\n"
        f"{notice}Task: {session['request']}\nPrevious actions:\n{past}\n"
        "Which element comes next, and what is done with it?\n\n"
        f"{NONE}. None of the above\n{lines}"
    )


def info(state: State) -> Mapping[str, Any]:
    """The address of the open page, and the letters that can be chosen."""
    session = session_of(state)
    nodes = choices_of(open_page(state, session), session).nodes
    return {"address": visit_of(session).address, "letters": "".join(nodes)}
