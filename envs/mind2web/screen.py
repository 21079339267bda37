"""The open page of a session: its tree, its choices under letters, and the prompt that shows it.

Everything follows from the state. What can be chosen, and under which letter, depends on the page alone, never on what
the task wants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, NamedTuple
from xml.sax.saxutils import escape
from xml.sax.saxutils import quoteattr as _quoted

from simia_gym.envs.mind2web.browser.names import names, role
from simia_gym.envs.mind2web.browser.page import Node, Page
from simia_gym.envs.mind2web.browser.requests import Pairs
from simia_gym.envs.mind2web.browser.themes import THEMES, Block, draw
from simia_gym.envs.mind2web.browser.tree import Element, squeeze
from simia_gym.envs.mind2web.browser.values import Typed, checked, chosen, is_field, words
from simia_gym.envs.mind2web.recorded.page import Page as RecordedPage
from simia_gym.envs.mind2web.sites.loading import find_site
from simia_gym.envs.mind2web.sites.pages import Found, Visit, blocks
from simia_gym.envs.mind2web.sites.rows import Shelf
from simia_gym.envs.mind2web.sites.spec import Site
from simia_gym.state import State
from simia_gym.state.table import Table
from simia_gym.types import JsonObject, Row, Task, ToolCall
from simia_gym.views.history import History

NONE = "A"
LETTERS = "BCDEFGHIJKLMNOPQRSTUVWXYZ"
SHOWN_PAST, WORDS_A_CHOICE = 5, 10
_ATTRIBUTES = (("type", "type"), ("aria_label", "aria-label"), ("name", "name"), ("placeholder", "placeholder"))
_REMEMBERED = 4_096
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
        called: Their names, by number.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actable = page.actable()
        self.called = names(page)

    def line(self, node: Node) -> str:
        """An element as past actions name it: role and name."""
        return f"[{role(node)}]  {self.called[node.number]}"

    @cached_property
    def last(self) -> dict[int, int]:
        """By the number of each element, the number of the last element within it."""
        found: dict[int, int] = {}
        for node in reversed(self.page.nodes):
            found.setdefault(node.number, node.number)
            if node.parent >= 0:
                found[node.parent] = max(found.get(node.parent, 0), found[node.number])
        return found


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
    else:
        tables = state.table("catalogue"), state.table("account")
        content = _blocks(session["site"], *tables, path, query, session["seed"])
    return _opened(content, session["theme"], path, query)


# States share the tables that have not changed.
@lru_cache(maxsize=_REMEMBERED)
def _blocks(
    site: str, catalogue: Table | None, account: Table | None, path: str, query: Pairs | None, seed: int
) -> tuple[Block, ...]:
    return blocks(Visit(path, query, seed), Shelf(find_site(site), catalogue, account))


@lru_cache(maxsize=_REMEMBERED)
def _opened(content: tuple[Block, ...], theme: str, path: str, query: Pairs | None) -> Opened:
    return Opened(Page(draw(content, _THEMES[theme]), path, query))


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
    typed = session["typed"]
    known = tuple([(name, tuple(value) if isinstance(value, list) else value) for name, value in typed.items()])
    shown, lines = _shown(opened, session["first"], session["choices"], known, session["page"])
    site = find_site(session["site"])
    notice = f"The browser refuses: {session['notice']}.\n" if session["notice"] else ""
    past = "\n".join(session["past"][-SHOWN_PAST:]) or "None"
    return (
        f"'''\n{shown}\n'''\n\nAbove is the open page of {site.title}. Do the next action of this task on it.\n"
        f"{notice}Task: {session['request']}\nPrevious actions:\n{past}\n"
        "Which element comes next, and what is done with it?\n\n"
        f"{NONE}. None of the above\n{lines}"
    )


def newest(history: History) -> str:
    """What a policy is shown of an episode: the newest page."""
    return history.observation


def info(state: State) -> Mapping[str, Any]:
    """The address of the open page, and the letters that can be chosen."""
    session = session_of(state)
    nodes = choices_of(open_page(state, session), session).nodes
    return {"address": visit_of(session).address, "letters": "".join(nodes)}


@lru_cache(maxsize=_REMEMBERED)
def _shown(opened: Opened, first: int, most: int, known: tuple[tuple[str, Any], ...], page: str) -> tuple[str, str]:
    """The text of the page, and the lines of the choices."""
    typed: Typed = {name: list(value) if isinstance(value, tuple) else value for name, value in known}
    nodes = opened.actable[first : first + most]
    numbers = {node.number: place for place, node in enumerate(nodes)}
    if page == "published":
        recorded = RecordedPage(_xml(opened, typed), where=opened.page.path)
        shown, texts = recorded.pruned([str(number) for number in numbers])
    else:
        written: dict[int, str] = {}
        shown = squeeze(_written(opened, opened.page.body, 0, typed, numbers, written))
        texts = [" ".join(written[number].split()[:WORDS_A_CHOICE]) for number in numbers]
    return shown, "\n".join(f"{letter}. {words}" for letter, words in zip(LETTERS, texts, strict=False))


def _inner(opened: Opened, element: Element, number: int) -> Iterator[tuple[Element | str, int]]:
    """The children with their numbers."""
    follows = number + 1
    for child in element.children:
        yield child, follows
        if isinstance(child, Element):
            follows = opened.last[follows] + 1


def _written(
    opened: Opened,
    element: Element,
    number: int,
    typed: Typed,
    numbers: Mapping[int, int],
    written: dict[int, str],
) -> str:
    """An element as the prompt shows it; one that says nothing gives way to its only child, as published."""
    node = opened.page.nodes[number]
    if node.hidden:
        return ""
    inner, texts = [], False
    for child, follows in _inner(opened, element, number):
        if isinstance(child, str):
            texts = True
            inner.append(f" {child} ")
        else:
            inner.append(_written(opened, child, follows, typed, numbers, written))
    if node.kind == "area":
        inner = [f" {words(opened.page, number, typed)} "]
    bare = number not in numbers and not element.attributes
    if bare and node.parent >= 0 and not texts and sum(map(bool, inner)) <= 1:
        return "".join(inner)
    said = [value for _, value in _attributes(opened, node, typed)]
    head = " ".join([element.tag, *([f"id={numbers[number]}"] if number in numbers else []), *said])
    text = "".join(inner)
    whole = f"<{head}>{text}</{element.tag}>" if text else f"<{head} />"
    if number in numbers:
        written[number] = squeeze(whole)
    return whole


def _attributes(opened: Opened, node: Node, typed: Typed) -> list[tuple[str, str]]:
    """What is shown of an element's attributes and of what was done with it, under the published names."""
    page, number, element, kind = opened.page, node.number, node.element, node.kind
    if element.tag == "option":
        return [("option_selected", "selected")] if _is_chosen(page, node, typed) else []
    found = [
        (shown, value)
        for shown, name in (
            ("type", "type"),
            ("aria_label", "aria-label"),
            ("name", "name"),
            ("placeholder", "placeholder"),
        )
        if (value := element.get(name))
    ]
    if kind in ("checkbox", "radio"):
        found.append(("value", element.get("value") or "on"))
        if checked(page, number, typed):
            found.append(("input_checked", "checked"))
    elif is_field(node) and kind != "area" and (value := words(page, number, typed)):
        found.append(("input_value", value))
    return found


def _is_chosen(page: Page, node: Node, typed: Typed) -> bool:
    above = node.parent
    while page.nodes[above].kind != "list":
        above = page.nodes[above].parent
    places = chosen(page, above, typed)
    return any(page.options(above)[place][0] is node.element for place in places)


def _xml(opened: Opened, typed: Typed) -> str:
    """The page in the released form, for the published pruning; hidden elements are left out."""
    parts: list[str] = []
    _add_xml(opened, opened.page.body, 0, typed, parts)
    return "".join(parts)


def _add_xml(opened: Opened, element: Element, number: int, typed: Typed, parts: list[str]) -> None:
    node = opened.page.nodes[number]
    if node.hidden:
        return
    given = [("backend_node_id", str(number)), *_attributes(opened, node, typed)]
    if element.attributes and len(given) == 1:
        given.append(("class", ""))
    parts.append(f"<{element.tag}{''.join(f' {name}={_quoted(value)}' for name, value in given)}>")
    if node.kind == "area":
        parts.append(f"<text>{escape(words(opened.page, number, typed))}</text>")
    else:
        for child, follows in _inner(opened, element, number):
            if isinstance(child, str):
                parts.append(f"<text>{escape(child)}</text>")
            else:
                _add_xml(opened, child, follows, typed, parts)
    parts.append(f"</{element.tag}>")
