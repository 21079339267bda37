"""A page as text: elements with the words of their attributes, and numbers on those that have a letter.

The text is prepared once for a page; what was typed and which elements have letters is put in each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape, quoteattr

from simia_gym.envs.mind2web.browser.page import Node, Page
from simia_gym.envs.mind2web.browser.piece import said_by
from simia_gym.envs.mind2web.browser.tree import Element, squeeze
from simia_gym.envs.mind2web.browser.values import Typed, checked, chosen, is_field, words


class PageText:
    """The text of a page.

    Args:
        page: The page.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._parts = page.parts
        self._marked = [node for node in page.nodes.values() if node.kind and not node.hidden]

    def written(self, typed: Typed, numbers: Mapping[int, int]) -> tuple[str, list[str]]:
        """The text of the page, and that of each lettered element.

        Args:
            typed: What was typed on the page.
            numbers: What stands behind ``id=`` at the lettered elements, by their place in the document.
        """
        out: list[str] = []
        texts: list[str] = []
        marked = iter(self._marked)
        number, begin, option = -1, 0, 0
        options: list[int] = []
        for part in self._parts:
            if isinstance(part, str):
                out.append(part)
                continue
            what, place, text = part
            if what == "press":
                number = next(marked).number
                if number in numbers:
                    text = f"{text[:place]} id={numbers[number]}{text[place:]}"
                    texts.append(text)
                out.append(text)
            elif what == "begin":
                node = next(marked)
                number, begin = node.number, len(out)
                if node.kind == "list":
                    option, options = 0, chosen(self._page, number, typed)
            elif what == "number":
                if number in numbers:
                    out.append(f" id={numbers[number]}")
            elif what == "option":
                if option in options:
                    out.append(" selected")
                option += 1
            elif what == "own":
                out += [f" {squeeze(value)}" for _, value in own(self._page, self._page.nodes[number], typed)]
            elif what == "area":
                value = squeeze(words(self._page, number, typed))
                out.append(f"> {value} </textarea>" if value else " />")
            elif number in numbers:
                texts.append("".join(out[begin:]))
        return "".join(out), texts


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
    given = [("backend_node_id", str(number)), *said_by(kind, dict(element.attributes))]
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
