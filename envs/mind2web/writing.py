"""A page as text: elements with the words of their attributes, and numbers on those that have a letter.

An element that is not lettered and says nothing gives way to its only child, as published. The text is prepared once
for a page; what was typed and which elements have letters is put in each time.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from simia_gym.envs.mind2web.browser.page import Node, Page, kind_of
from simia_gym.envs.mind2web.browser.tree import Element, squeeze
from simia_gym.envs.mind2web.browser.values import Typed, checked, chosen, is_field, words

_ATTRIBUTES = (("type", "type"), ("aria_label", "aria-label"), ("name", "name"), ("placeholder", "placeholder"))
"""The attributes that are shown, each after its published name."""


class _Mark(NamedTuple):
    """A place in the text: where an element begins, its number stands, what it holds stands, and where it ends.

    Attributes:
        what: Which of them.
        number: The number of the element; of an option, that of its list.
        place: Of an option, its place in the list.
    """

    what: Literal["begin", "number", "option", "own", "area", "end"]
    number: int
    place: int = 0


class _Prepared(NamedTuple):
    """The text of an element, whatever stands before it.

    Attributes:
        parts: Texts and marks, whose numbers count from the element.
        size: The number of elements in it, itself included.
        says: Whether anything of it is shown.
    """

    parts: tuple[str | _Mark, ...]
    size: int
    says: bool


class PageText:
    """The text of a page.

    Args:
        page: The page.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._parts = _prepared(page.body).parts

    def written(self, typed: Typed, numbers: Mapping[int, int]) -> tuple[str, list[str]]:
        """The text of the page, and that of each lettered element.

        Args:
            typed: What was typed on the page.
            numbers: What stands behind ``id=`` at the lettered elements, by their place in the document.
        """
        out: list[str] = []
        texts: list[str] = []
        begin = 0
        lists: dict[int, list[int]] = {}
        for part in self._parts:
            if isinstance(part, str):
                out.append(part)
                continue
            what, number, place = part
            if what == "begin":
                begin = len(out)
            elif what == "number":
                if number in numbers:
                    out.append(f" id={numbers[number]}")
            elif what == "option":
                if number not in lists:
                    lists[number] = chosen(self._page, number, typed)
                if place in lists[number]:
                    out.append(" selected")
            elif what == "own":
                out += [f" {squeeze(value)}" for _, value in own(self._page, self._page.nodes[number], typed)]
            elif what == "area":
                value = squeeze(words(self._page, number, typed))
                out.append(f"> {value} </textarea>" if value else " />")
            elif number in numbers:
                texts.append("".join(out[begin:]))
        return "".join(out), texts


# The same rows, fields and steps stand on many pages.
@lru_cache(maxsize=8_192)
def _prepared(element: Element) -> _Prepared:
    tag, kind = element.tag, kind_of(element)
    parts: list[str | _Mark] = []
    texts, full, count = False, 0, 1
    for child in element.children:
        if isinstance(child, str):
            texts = True
            if said := squeeze(child):
                parts.append(f" {said} ")
                full += 1
        else:
            inner = _prepared(child)
            parts += [part if isinstance(part, str) else _further(part, count) for part in inner.parts]
            count += inner.size
            full += inner.says
    if element.has("hidden") or kind == "hidden":
        return _Prepared((), count, False)
    if tag == "option":
        return _Prepared(("<option", _Mark("option", 0), ">", *parts, "</option>"), count, True)
    if not kind and not element.attributes and not texts and full <= 1 and tag != "body":
        return _Prepared(_joined(parts), count, full > 0)
    said = "".join([f" {squeeze(value)}" for _, value in said_by(kind, element)])
    head: list[str | _Mark] = [f"<{tag}{said}"]
    if kind:
        head = [_Mark("begin", 0), f"<{tag}", _Mark("number", 0), said]
    if kind == "area":
        return _Prepared(_joined([*head, _Mark("area", 0), _Mark("end", 0)]), count, True)
    if kind == "list":
        places = itertools.count()
        parts = [_Mark("option", 0, next(places)) if isinstance(part, _Mark) else part for part in parts]
    elif kind and tag == "input":
        head.append(_Mark("own", 0))
    whole = [*head, ">", *parts, f"</{tag}>"] if full else [*head, " />"]
    return _Prepared(_joined([*whole, _Mark("end", 0)] if kind else whole), count, True)


def _further(mark: _Mark, count: int) -> _Mark:
    """A mark of an element before which so many others stand."""
    what, number, place = mark
    return _Mark(what, number + count, place)


def _joined(parts: list[str | _Mark]) -> tuple[str | _Mark, ...]:
    """The parts with texts that follow each other as one."""
    found: list[str | _Mark] = []
    waiting: list[str] = []
    for part in parts:
        if isinstance(part, str):
            waiting.append(part)
        else:
            if waiting:
                found.append("".join(waiting))
                waiting = []
            found.append(part)
    if waiting:
        found.append("".join(waiting))
    return tuple(found)


def said_by(kind: str, element: Element) -> list[tuple[str, str]]:
    """What is always shown of an element's attributes, under the published names."""
    if not element.attributes:
        return []
    found = [(shown, value) for shown, name in _ATTRIBUTES if (value := element.get(name))]
    if kind in ("checkbox", "radio"):
        found.append(("value", element.get("value") or "on"))
    return found


def own(page: Page, node: Node, typed: Typed) -> list[tuple[str, str]]:
    """What an element holds now, under the published name: its text, or that it is checked or selected."""
    if node.element.tag == "option":
        return [("option_selected", "selected")] if _is_chosen(page, node, typed) else []
    if node.kind in ("checkbox", "radio"):
        return [("input_checked", "checked")] if checked(page, node.number, typed) else []
    value = words(page, node.number, typed) if is_field(node) and node.kind != "area" else ""
    return [("input_value", value)] if value else []


def _is_chosen(page: Page, node: Node, typed: Typed) -> bool:
    above = node.parent
    while page.nodes[above].kind != "list":
        above = page.nodes[above].parent
    options = page.options(above)
    return any(options[place][0] is node.element for place in chosen(page, above, typed))


def released(page: Page, typed: Typed) -> str:
    """The page in the form of the published release, for its pruning; hidden elements are left out."""
    parts: list[str] = []
    _release(page, page.body, 0, typed, parts)
    return "".join(parts)


def _release(page: Page, element: Element, number: int, typed: Typed, parts: list[str]) -> int:
    node, follows = page.nodes[number], number + 1
    begin = len(parts)
    given = [("backend_node_id", str(number)), *said_by(node.kind, element), *own(page, node, typed)]
    if element.attributes and len(given) == 1:
        given.append(("class", ""))  # an element with attributes does not give way
    parts.append(f"<{element.tag}{''.join(f' {name}={quoteattr(value)}' for name, value in given)}>")
    for child in element.children:
        if isinstance(child, Element):
            follows = _release(page, child, follows, typed, parts)
        elif node.kind != "area":
            parts.append(f"<text>{escape(child)}</text>")
    if node.kind == "area":
        parts.append(f"<text>{escape(words(page, number, typed))}</text>")
    parts.append(f"</{element.tag}>")
    if node.hidden:
        del parts[begin:]
    return follows
