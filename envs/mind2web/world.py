# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""The browser: what a visitor does on the open page, and what the site makes of it.

The one row of ``session`` says which page is open and what was typed on it; no goal counts it. What a form changes are
rows of ``account``. What a browser refuses, such as a form with an empty field, is said on the page that stays open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from simia_gym.domain.tools import tool
from simia_gym.domain.world import World
from simia_gym.envs.mind2web import screen
from simia_gym.envs.mind2web.browser import acting
from simia_gym.envs.mind2web.browser.acting import Outcome, Refusal, Typing
from simia_gym.envs.mind2web.browser.page import Node
from simia_gym.envs.mind2web.browser.requests import Request
from simia_gym.envs.mind2web.screen import LETTERS, Opened
from simia_gym.envs.mind2web.sites import server
from simia_gym.envs.mind2web.slices import VIEWS, changes_tables
from simia_gym.errors import InputError, ToolError
from simia_gym.state import Draft, State
from simia_gym.types import JsonObject, Row, Task, ToolCall

RENDER = "simia_gym.envs.mind2web.screen:render"
_READS: tuple[str | JsonObject, ...] = ("session/main", *VIEWS)
_SIZES = (5, len(LETTERS))
_PAGES = ("whole", "published")


class SiteWorld(World):
    """The browser's code.

    Options:
        choices: How many elements have a letter at once: 25, or 5 as published.
        page: ``whole``, or ``published``: pruned around the choices, as published.
    """

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(options)
        if (compat := self.options.get("compat")) is not None:
            fix = "Give recordings with data=, or leave compat out."
            raise InputError(f"compat={compat!r} is for recorded steps", where="options.compat", fix=fix)
        self._choices, self._page = self.options.get("choices", _SIZES[1]), self.options.get("page", _PAGES[0])
        for name, value, known in (("choices", self._choices, _SIZES), ("page", self._page, _PAGES)):
            if value not in known or isinstance(value, bool):
                fix = f"Use {' or '.join(map(str, known))}."
                raise InputError(f"{name} is {value!r}", where=f"options.{name}", fix=fix)

    @tool(
        effect="write",
        reads=_READS,
        writes=("session/main", "account/*"),
        render=RENDER,
        render_errors=True,
        always_changes=True,
    )
    def click(self, db: Draft, choice: str) -> None:
        """Click on an element: follow a link, press a button, check a box.

        Args:
            choice: The letter of the element, such as C.
        """
        session, opened, node = _chosen(db.state, choice)
        _do(db, session, opened, node, "CLICK", acting.click(opened.page, session["typed"], node.number))

    @tool(
        effect="write", reads=_READS, writes=("session/main",), render=RENDER, render_errors=True, always_changes=True
    )
    def select(self, db: Draft, choice: str, value: str) -> None:
        """Choose an option of a list.

        Args:
            choice: The letter of the list.
            value: The text of the option.
        """
        session, opened, node = _chosen(db.state, choice)
        outcome = acting.select(opened.page, session["typed"], node.number, value)
        _do(db, session, opened, node, f"SELECT: {value}", outcome)

    @tool(
        effect="write", reads=_READS, writes=("session/main",), render=RENDER, render_errors=True, always_changes=True
    )
    def type(self, db: Draft, choice: str, value: str) -> None:
        """Type into a field; what stood there is replaced.

        Args:
            choice: The letter of the field.
            value: The text. A date is typed as 2026-03-09.
        """
        session, opened, node = _chosen(db.state, choice)
        outcome = acting.write_in(opened.page, session["typed"], node.number, value)
        _do(db, session, opened, node, f"TYPE: {value}", outcome)

    @tool(
        effect="write", reads=_READS, writes=("session/main",), render=RENDER, render_errors=True, always_changes=True
    )
    def more(self, db: Draft) -> None:
        """Say that the element is none of the above, and look at the next ones; after the last ones come the first."""
        session = screen.session_of(db.state)
        first = session["first"] + session["choices"]
        total = len(screen.open_page(db.state, session).actable)
        db.put("session", "main", {**session, "first": first if first < total else 0, "notice": ""})

    @tool(
        effect="write",
        reads=("session/main",),
        writes=("session/main",),
        terminal=True,
        render=RENDER,
        always_changes=True,
    )
    def done(self, db: Draft, answer: str = "") -> None:
        """End the visit: the task is done.

        Args:
            answer: The answer alone, if the task asks for something.
        """
        db.put("session", "main", {**screen.session_of(db.state), "answer": answer})

    def route(self, state: State, call: ToolCall) -> Literal["world", "llm"]:
        """Code is the browser; a model plays what changes tables."""
        return "llm" if changes_tables(state, call) else "world"

    def opening(self, db: Draft, task: Task) -> str:
        """Give the page where the visit starts."""
        session = screen.session_of(db.state)
        if (session["choices"], session["page"]) != (self._choices, self._page):
            db.put("session", "main", {**session, "choices": self._choices, "page": self._page})
            return screen.render(db.commit()[0])
        return screen.render(db.state)

    def info(self, state: State) -> Mapping[str, Any]:
        """Give the address of the open page and the letters that can be chosen."""
        return screen.info(state)


def _chosen(state: State, choice: str) -> tuple[Row, Opened, Node]:
    """The session, its open page, and the element under a letter.

    Raises:
        ToolError: There is no such choice.
    """
    session = screen.session_of(state)
    opened = screen.open_page(state, session)
    nodes = screen.choices_of(opened, session).nodes
    node = nodes.get(choice.strip().upper())
    if node is None:
        why = f"The letters are {', '.join(nodes)}."
        raise ToolError(f"There is no choice {choice[:20]!r}.", "no_choice", why)
    return session, opened, node


def _do(db: Draft, session: Row, opened: Opened, node: Node, what: str, outcome: Outcome) -> None:
    """Writes what an action leads to."""
    if isinstance(outcome, Refusal):
        db.put("session", "main", {**session, "notice": outcome.reason})
        return
    new: dict[str, Any] = {
        **session,
        "first": 0,
        "notice": "",
        "past": [*session["past"], f"{opened.line(node)} -> {what}"],
    }
    if isinstance(outcome, Typing):
        new |= {"typed": outcome.typed, "notice": outcome.notice}
    else:
        new |= _asked(db, session, outcome)
    db.put("session", "main", new)


def _asked(db: Draft, session: Row, request: Request) -> dict[str, Any]:
    """Does what a request asks for; the columns of the session that follow from it."""
    given = server.answer(request, screen.shelf_of(db.state, session), session["seed"])
    for key, row in given.changes.items():
        if row is None:
            db.remove("account", key)
        else:
            db.put("account", key, row)
    query = None if given.query is None else [list(pair) for pair in given.query]
    return {"path": given.path, "query": query, "typed": {}}
