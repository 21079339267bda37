"""Short HTML texts as trees, so that tables of pages can be written as HTML."""

from __future__ import annotations

from functools import cache, partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import yaml

from simia_gym.envs.mind2web.browser.page import Page
from simia_gym.envs.mind2web.browser.requests import decode
from simia_gym.envs.mind2web.browser.tree import VOID, Element

AT = "/page?from=1"
NAMES = [
    ('<a href="/x" id="x">Two <strong>big</strong>\n words</a>', "link Two big words"),
    ('<a href="/x" id="x">One<span hidden> two</span></a>', "link One"),
    ('<button id="x">Go</button>', "button Go"),
    ('<button id="x" aria-label="Search flights">Go</button>', "button Search flights"),
    ('<form><input type="submit" id="x" value="Send it"></form>', "button Send it"),
    ('<label for="x">City</label><input id="x" placeholder="Town">', "textbox City"),
    ('<label>City <input id="x"></label>', "textbox City"),
    ('<label for="x">City</label><input id="x" aria-label="Town">', "textbox Town"),
    ('<input id="x" placeholder="Town">', "textbox Town"),
    ('<textarea id="x" placeholder="Words"></textarea>', "textbox Words"),
    ('<input type="search" id="x" aria-label="Find">', "searchbox Find"),
    ('<input type="number" id="x" aria-label="Persons">', "spinbutton Persons"),
    ('<label>Size <select id="x"><option>Small</option></select></label>', "combobox Size"),
    ('<select multiple id="x" aria-label="Sizes"><option>Small</option></select>', "listbox Sizes"),
    ('<label><input type="radio" id="x"> By post</label>', "radio By post"),
    ('<label><input type="checkbox" id="x"> With <em>tax</em></label>', "checkbox With tax"),
    ('<label for="x">A</label><label for="x">B</label><input id="x">', "textbox A B"),
    ('<label>Title<input type="hidden" name="h"><input id="x"></label>', "textbox Title"),
]
"""Pages and the role and name of the element ``x`` on them."""


@cache
def table() -> list[dict[str, Any]]:
    """The cases of pages.yaml."""
    cases: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "pages.yaml").read_text(encoding="utf-8"))
    return cases


def page(html: str, at: str = AT) -> Page:
    """The page of a snippet."""
    path, _, query = at.partition("?")
    return Page(partial(tree, html), path, decode(query) if query else None)


def tree(html: str) -> Element:
    """The tree of a snippet in which every element is closed, below a ``body``."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert [tag for tag, _, _ in reader.open] == ["body"], f"an element is not closed: {html}"
    return Element("body", (), tuple(reader.open[0][2]))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, tuple[tuple[str, str], ...], list[Element | str]]] = [("body", (), [])]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = tuple((name, value or "") for name, value in attrs)
        if tag in VOID:
            self.open[-1][2].append(Element(tag, attributes))
        else:
            self.open.append((tag, attributes, []))

    def handle_endtag(self, tag: str) -> None:
        name, attributes, children = self.open.pop()
        assert name == tag
        if tag == "textarea" and children and isinstance(children[0], str):
            children[:1] = [rest] if (rest := children[0].removeprefix("\n")) else []
        self.open[-1][2].append(Element(tag, attributes, tuple(children)))

    def handle_data(self, data: str) -> None:
        self.open[-1][2].append(data)
