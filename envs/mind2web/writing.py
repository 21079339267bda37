"""A page as text: elements with the words of their attributes, and numbers on those that have a letter.

An element that is not lettered and says nothing gives way to its only child, as published. The text is prepared once
for a page; what was typed and which elements have letters is put in each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from simia_gym.envs.mind2web.browser.page import Node, Page
from simia_gym.envs.mind2web.browser.tree import Element, squeeze
from simia_gym.envs.mind2web.browser.values import Typed, checked, chosen, is_field, words

_ATTRIBUTES = (("type", "type"), ("aria_label", "aria-label"), ("name", "name"), ("placeholder", "placeholder"))
"""The attributes that are shown, each after its published name."""


class _Mark(NamedTuple):
    """A place in the text: where an element begins, its number stands, what it holds stands, and where it ends."""

    what: Literal["begin", "number", "option", "own", "area", "end"]
    node: Node
    place: int = 0


_Part = str | _Mark


class PageText:
    """The text of a page.

    Args:
        page: The page.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._actable = {node.number for node in page.actable()}
        self._places: dict[int, tuple[int, Node]] = {}
        out: list[_Part] = []
        self._add(page.body, 0, out)
        self._parts = _joined(out)

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
            what, node, place = part
            if what == "begin":
                begin = len(out)
            elif what == "number":
                if node.number in numbers:
                    out.append(f" id={numbers[node.number]}")
            elif what == "option":
                if node.number not in lists:
                    lists[node.number] = chosen(self._page, node.number, typed)
                out.append(" selected" if place in lists[node.number] else "")
            elif what == "own":
                out += [f" {squeeze(value)}" for _, value in own(self._page, node, typed)]
            elif what == "area":
                value = squeeze(words(self._page, node.number, typed))
                out.append(f"> {value} </{node.element.tag}>" if value else " />")
            elif node.number in numbers:
                texts.append("".join(out[begin:]))
        return "".join(out), texts

    def _add(self, element: Element, number: int, out: list[_Part]) -> tuple[int, bool]:
        """Adds the parts of an element; gives the number of what follows it, and whether it says anything."""
        node, follows = self._page.nodes[number], number + 1
        if not element.attributes and len(element.children) == 1 and not node.kind and not node.hidden:
            only = element.children[0]
            if isinstance(only, str) and element.tag != "option":
                if said := squeeze(only):
                    out.append(f"<{element.tag}> {said} </{element.tag}>")
                else:
                    out.append(f"<{element.tag} />")
                return follows, True
        begin = len(out)
        acts = number in self._actable
        said = "".join([f" {squeeze(value)}" for _, value in said_by(node)]) if element.attributes else ""
        if acts:
            out += (_Mark("begin", node), f"<{element.tag}", _Mark("number", node), said)
        elif element.tag == "option" and number in self._places:
            place, above = self._places[number]
            out += (f"<option{said}", _Mark("option", above, place))
        else:
            out.append(f"<{element.tag}{said}")
        if node.kind == "list":
            follow = (each for each in self._page.nodes[follows:] if each.element.tag == "option")
            self._places |= {
                each.number: (place, node)
                for (place, _), each in zip(
                    enumerate(self._page.options(number)),
                    follow,
                    strict=False,  # the options of later lists follow
                )
            }
        if node.kind in ("checkbox", "radio") or (node.kind != "area" and is_field(node)):
            out.append(_Mark("own", node))
        inside = len(out)
        out.append(">")
        texts, full = False, 0
        for child in element.children:
            if isinstance(child, str):
                texts = True
                if words_of := squeeze(child):
                    out.append(f" {words_of} ")
                    full += 1
            else:
                follows, says = self._add(child, follows, out)
                full += says
        if node.hidden:
            del out[begin:]
            return follows, False
        if not acts and not element.attributes and number and not texts and full <= 1:
            out[begin : inside + 1] = []
            return follows, full > 0
        if node.kind == "area":
            out[inside:] = [_Mark("area", node)]
        elif full:
            out.append(f"</{element.tag}>")
        else:
            out[inside:] = [" />"]
        if acts:
            out.append(_Mark("end", node))
        return follows, True


def _joined(parts: list[_Part]) -> list[_Part]:
    """The parts with texts that follow each other as one."""
    found: list[_Part] = []
    waiting: list[str] = []
    for part in parts:
        if isinstance(part, str):
            waiting.append(part)
        else:
            if waiting:
                found.append("".join(waiting))
                waiting = []
            found.append(part)
    return [*found, "".join(waiting)]


def said_by(node: Node) -> list[tuple[str, str]]:
    """What is always shown of an element's attributes, under the published names."""
    element = node.element
    found = [(shown, value) for shown, name in _ATTRIBUTES if (value := element.get(name))]
    if node.kind in ("checkbox", "radio"):
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
    given = [("backend_node_id", str(number)), *said_by(node), *own(page, node, typed)]
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
