"""A page as text: elements with the words of their attributes, and numbers on those that have a letter.

An element that is not lettered and says nothing gives way to its only child, as published. The text is prepared once
for a page; what was typed and which elements have letters is put in each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from simia_gym.envs.mind2web.browser.page import Node, Page
from simia_gym.envs.mind2web.browser.tree import Element, squeeze
from simia_gym.envs.mind2web.browser.values import Typed, checked, chosen, is_field, words

_ATTRIBUTES = (("type", "type"), ("aria_label", "aria-label"), ("name", "name"), ("placeholder", "placeholder"))
"""The attributes that are shown, each after its published name."""
_Mark = tuple[Literal["begin", "number", "option", "own", "area", "end", "press"], int, int, str]
"""A place in the text: where an element begins, its number stands, what it holds stands, and where it ends.

It says which of them, the number of the element (of an option, that of its list), and of an option its place in the
list. A link or button that says a text alone is one mark, with its text and where in it the number stands.
"""
_LEAVES = frozenset(("td", "th", "dt", "dd", "p", "h1", "h2", "legend"))
"""What mostly holds a text alone."""
_PRESSES = frozenset(("a", "button"))


class PageText:
    """The text of a page.

    Args:
        page: The page.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._list, self._option = 0, 0
        parts: list[str | _Mark] = []
        self._write(page.body, 0, parts)
        self._parts = _joined(parts)

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
            what, number, place, text = part
            if what == "press":
                if number in numbers:
                    text = f"{text[:place]} id={numbers[number]}{text[place:]}"
                    texts.append(text)
                out.append(text)
            elif what == "begin":
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

    def _write(self, element: Element, number: int, parts: list[str | _Mark]) -> tuple[int, bool]:
        """Writes an element; gives the number of the one that follows, and whether anything of it is shown."""
        tag, attributes, children = element
        node = self._page.nodes.get(number)
        kind = "" if node is None else node.kind
        begin = len(parts)
        if kind:
            parts += [("begin", number, 0, ""), f"<{tag}", ("number", number, 0, "")]
            parts.append(_told(said_by(kind, element)))
            if tag == "input" and kind != "hidden":
                parts.append(("own", number, 0, ""))
            elif kind == "list":
                self._list, self._option = number, 0
        elif tag == "option":
            parts += ["<option", ("option", self._list, self._option, "")]
            self._option += 1
        else:
            parts.append(f"<{tag}{_told(said_by(kind, element))}")
        after = len(parts)
        parts.append("")
        follows, texts, full = self._write_all(children, number + 1, parts)
        if node is not None and node.hidden:
            del parts[begin:]
            return follows, False
        if kind == "area":
            parts[after:] = [("area", number, 0, ""), ("end", number, 0, "")]
        elif tag == "option":
            parts[after] = ">"
            parts.append("</option>")
        elif not kind and not attributes and not texts and full <= 1 and tag != "body":
            parts[begin] = ""
            return follows, full > 0
        else:
            parts[after] = ">" if full else " />"
            if full:
                parts.append(f"</{tag}>")
            if kind:
                parts.append(("end", number, 0, ""))
        return follows, True

    def _write_all(
        self, children: tuple[Element | str, ...], follows: int, parts: list[str | _Mark]
    ) -> tuple[int, bool, int]:
        """Writes what an element holds.

        Returns:
            The number of the element that follows, whether there are texts, and how much of it is shown.
        """
        texts, full, nodes = False, 0, self._page.nodes
        for child in children:
            if isinstance(child, str):
                texts = True
                if said := squeeze(child):
                    parts.append(f" {said} ")
                    full += 1
                continue
            tag, attributes, inner = child
            if not attributes and tag in _LEAVES and len(inner) == 1 and isinstance(inner[0], str):
                said = squeeze(inner[0])
                parts.append(f"<{tag}> {said} </{tag}>" if said else f"<{tag} />")
                follows += 1
                full += 1
            elif tag in _PRESSES and len(inner) == 1 and isinstance(inner[0], str) and (node := nodes[follows]).kind:
                if not node.hidden:
                    told, said = _told(said_by(node.kind, child)), squeeze(inner[0])
                    text = f"<{tag}{told}> {said} </{tag}>" if said else f"<{tag}{told} />"
                    parts.append(("press", follows, len(tag) + 1, text))
                    full += 1
                follows += 1
            else:
                follows, says = self._write(child, follows, parts)
                full += says
        return follows, texts, full


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


def _told(said: list[tuple[str, str]]) -> str:
    """What is shown of attributes, as it stands in a tag."""
    return "".join([f" {squeeze(value)}" for _, value in said]) if said else ""


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
    node, follows = page.nodes.get(number), number + 1
    kind = "" if node is None else node.kind
    begin = len(parts)
    given = [("backend_node_id", str(number)), *said_by(kind, element)]
    if node is not None:
        given += own(page, node, typed)
    if element.attributes and len(given) == 1:
        given.append(("class", ""))  # an element with attributes does not give way
    parts.append(f"<{element.tag}{''.join(f' {name}={quoteattr(value)}' for name, value in given)}>")
    for child in element.children:
        if isinstance(child, Element):
            follows = _release(page, child, follows, typed, parts)
        elif kind != "area":
            parts.append(f"<text>{escape(child)}</text>")
    if kind == "area":
        parts.append(f"<text>{escape(words(page, number, typed))}</text>")
    parts.append(f"</{element.tag}>")
    if node is not None and node.hidden:
        del parts[begin:]
    return follows
