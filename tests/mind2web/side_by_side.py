"""The same actions at the same time in the small browser and in a real one, which asks a real server."""

from __future__ import annotations

import random
from typing import Any

from simia_gym.envs.mind2web import screen
from simia_gym.envs.mind2web.browser.names import role
from simia_gym.envs.mind2web.browser.page import Node
from simia_gym.envs.mind2web.browser.requests import Request
from simia_gym.envs.mind2web.browser.tree import text
from simia_gym.envs.mind2web.browser.values import checked, chosen, is_field, words
from simia_gym.envs.mind2web.screen import Opened
from simia_gym.envs.mind2web.serving.visitor import Visitor
from simia_gym.envs.mind2web.serving.web import SiteServer
from simia_gym.state import State
from simia_gym.types import Row, ToolCall

from .chromium import Chromium
from .plays import WORLD

_FITTING = {"number": ("2", "7", "1.5"), "date": ("2026-03-10", "2026-04-02"), "email": ("ann@post.example",)}
_TEXTS = ("lamp", "The", "7", "2026-03-10", " two  words ", "Ann & Bob's <b>", "~*+%/?=\u00e9\u20ac", "x" * 250, "")


class SideBySide:
    """One visit in both browsers.

    Args:
        chromium: The real browser.
        server: The server that it asks; it gets the visit.
        visitor: The visit.

    Attributes:
        state: The state in the small browser.
    """

    def __init__(self, chromium: Chromium, server: SiteServer, visitor: Visitor) -> None:
        self._chromium, self._visitor, self.state = chromium, visitor, visitor.start
        server.visitor = visitor
        chromium.open(server.url + visitor.site.start)
        self._same("the first page")

    def play(self, call: ToolCall) -> None:
        """Does an action in both, and compares address, tree, elements and values."""
        session = screen.session_of(self.state)
        opened = screen.open_page(self.state, session)
        self.state = WORLD.call(self.state, call).state or self.state
        if call.name in {"click", "select", "type"}:
            node = screen.choices_of(opened, session).nodes[call.arguments["choice"]]
            values = [call.arguments["value"]] if call.name != "click" else []
            refused = self._chromium.act(call.name, opened.actable.index(node), *values)
            notice = screen.session_of(self.state)["notice"]
            if call.name == "click":
                assert refused is None, (call, refused)
                if node.kind in {"link", "submit"} and not notice:
                    self._chromium.loaded()
            else:
                # A date that is none leaves the field empty in both; only the small browser says so.
                emptied = node.kind == "date" and refused is None
                assert emptied or bool(refused) == bool(notice), (call, refused, notice)
        if call.name != "done":
            self._same(call)

    def end(self) -> None:
        """Compares all tables."""
        left, served = self.state.to_tables(), self._visitor.state.to_tables()
        assert left.keys() == served.keys()
        for name in left.keys() - {"session"}:
            assert left[name] == served[name]

    def _same(self, after: Any) -> None:
        session = screen.session_of(self.state)
        opened = screen.open_page(self.state, session)
        path, query = opened.page.path, opened.page.query
        where = f"{self._visitor.site.name}, {session['theme']}, {session['past'][-3:]}, after {after}"
        assert self._chromium.address() == Request("GET", path, query).url, where
        assert self._chromium.elements() == _elements(opened, session), where
        assert self._chromium.tree() == opened.page.body, where


def _elements(opened: Opened, session: Row) -> list[tuple[str, str, Any]]:
    """Role, name and value of what can be acted on."""
    found = []
    for node in opened.actable:
        called = role(node), opened.called[node.number]
        found.append((*called, _value(opened, node, session)))
    return found


def _value(opened: Opened, node: Node, session: Row) -> Any:
    page, typed = opened.page, session["typed"]
    if node.kind == "list":
        options = page.options(node.number)
        return [text(options[place][0]) for place in chosen(page, node.number, typed)]
    if node.kind in {"checkbox", "radio"}:
        return checked(page, node.number, typed)
    return words(page, node.number, typed) if is_field(node) else None


def random_call(state: State, rng: random.Random) -> ToolCall:
    """Something that can be done on the open page, rather with fields and their buttons than with what leads away."""
    session = screen.session_of(state)
    opened = screen.open_page(state, session)
    nodes = screen.choices_of(opened, session).nodes
    forms = {node.form for node in opened.actable if node.kind not in {"link", "submit"}}
    inner = [letter for letter, node in nodes.items() if node.form in forms]
    letter = rng.choice(inner if inner and rng.random() < 0.7 else list(nodes))
    node, turn = nodes[letter], rng.random()
    if turn < 0.05:
        return ToolCall("more", {})
    if turn < 0.1 or not (is_field(node) or node.kind == "list"):
        return ToolCall("click", {"choice": letter})
    if node.kind == "list":
        labels = [text(option) for option, _ in opened.page.options(node.number)]
        return ToolCall("select", {"choice": letter, "value": rng.choice([*labels, *labels, "No such option"])})
    fitting = _FITTING.get(node.kind, _TEXTS)
    return ToolCall("type", {"choice": letter, "value": rng.choice(fitting if turn < 0.8 else _TEXTS)})
