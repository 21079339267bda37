"""A page: its tree with what a browser knows about every element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from simia_gym.envs.mind2web.browser.requests import Pairs
from simia_gym.envs.mind2web.browser.tree import Element

CONTROLS = frozenset({"input", "select", "textarea", "button"})
BUTTONS = frozenset({"submit", "button"})
_PLAIN = frozenset(
    {"td", "th", "tr", "tbody", "thead", "table", "dt", "dd", "dl", "p", "article", "section", "nav", "h1"}
)
"""What neither is nor changes anything that can be acted on, where it has no attribute."""
_ACTING = CONTROLS | {"a"}
_KINDS = {"select": "list", "textarea": "area"}
_NONE: dict[str, str] = {}
TEXTS = frozenset({"text", "search", "tel", "email", "password"})


class Node(NamedTuple):
    """An element in its place.

    Attributes:
        number: The place of the element in document order; the body has 0.
        element: The element.
        parent: The number of the element of `Page.nodes` around it; -1 for the body.
        hidden: It is not shown.
        disabled: It cannot be used, and it is not sent.
        form: The number of the form that it belongs to; -1 for none.
        kind: What it is: ``link``, ``button`` or ``submit``, ``list``, ``area``, the type of an input, or ``""``.
    """

    number: int
    element: Element
    parent: int
    hidden: bool
    disabled: bool
    form: int
    kind: str


class Page:
    """A page that is open in the browser.

    Attributes:
        body: The tree.
        path: The path of its address.
        query: The query of its address.
        nodes: The elements in document order, by their numbers, without those that neither are nor hold anything that
            matters to a browser, such as the cells of a table.
        controls: The elements of forms, in document order, by the number of the form that they belong to.
    """

    def __init__(self, body: Element, path: str, query: Pairs | None = None) -> None:
        self.body, self.path, self.query = body, path, query
        self._ids: dict[str, int] = {}
        self._owns = False
        self.nodes: dict[int, Node] = {}
        self._add(body, 0, (-1, False, False, -1))
        if self._owns:
            self.nodes = {number: self._owned(node) for number, node in self.nodes.items()}
        self.controls: dict[int, list[Node]] = {}
        for node in self.nodes.values():
            if node.element.tag in CONTROLS:
                self.controls.setdefault(node.form, []).append(node)

    def find(self, name: str) -> int:
        """The number of the element with this ``id``.

        Raises:
            KeyError: There is none.
        """
        return self._ids[name]

    def actable(self) -> list[Node]:
        """What can be acted on, in document order: shown, not disabled, and a link, button, field, list or box."""
        return [node for node in self.nodes.values() if node.kind and not node.hidden and not node.disabled]

    def options(self, number: int) -> list[tuple[Element, bool]]:
        """The options of a list, and whether each of them is disabled."""
        found: list[tuple[Element, bool]] = []
        for child in self.nodes[number].element.children:
            if isinstance(child, Element) and child.tag == "option":
                found.append((child, child.has("disabled")))
            elif isinstance(child, Element):
                off = child.has("disabled")
                inner = (option for option in child.children if isinstance(option, Element))
                found += [(option, off or option.has("disabled")) for option in inner]
        return found

    def group(self, number: int) -> list[Node]:
        """The radio buttons of which only one can be chosen, with this one: same form, same name."""
        radio = self.nodes[number]
        name = radio.element.get("name")
        if not name:
            return [radio]
        return [
            other for other in self.controls[radio.form] if other.kind == "radio" and other.element.get("name") == name
        ]

    def _add(self, element: Element, number: int, above: tuple[int, bool, bool, int]) -> int:
        """Adds an element and what it holds; returns the number of the element that follows."""
        tag, attributes, children = element
        follows = number + 1
        if not attributes and tag in _PLAIN:
            for child in children:
                if isinstance(child, str):
                    continue
                inner = child.children
                if (
                    (not inner or (len(inner) == 1 and isinstance(inner[0], str)))
                    and not child.attributes
                    and child.tag in _PLAIN
                ):
                    follows += 1
                else:
                    follows = self._add(child, follows, above)
            return follows
        parent, hidden, disabled, form = above
        given = dict(attributes) if attributes else _NONE
        if "id" in given:
            self._ids.setdefault(given["id"], number)
        self._owns = self._owns or "form" in given
        hidden = hidden or "hidden" in given
        unseen = hidden or (tag == "input" and given.get("type") == "hidden")
        off = tag in CONTROLS and (disabled or "disabled" in given)
        form = number if tag == "form" else form
        self.nodes[number] = Node(number, element, parent, unseen, off, form, _kind(tag, given))
        fieldset = tag == "fieldset"
        closed = disabled or (fieldset and "disabled" in given)
        legend = fieldset
        inside = (number, hidden, closed, form)
        for child in children:
            if isinstance(child, str):
                continue
            if legend and child.tag == "legend":
                # The first legend of a disabled fieldset stays usable.
                legend = False
                follows = self._add(child, follows, (number, hidden, disabled, form))
            else:
                follows = self._add(child, follows, inside)
        return follows

    def _owned(self, node: Node) -> Node:
        owner = node.element.get("form") if node.element.tag in CONTROLS else None
        if owner is None:
            return node
        number = self._ids.get(owner, -1)
        around = self.nodes.get(number)
        return node._replace(form=number if around is not None and around.element.tag == "form" else -1)


def kind_of(element: Element) -> str:
    """What an element is, as `Node.kind` says."""
    return _kind(element.tag, dict(element.attributes)) if element.tag in _ACTING else ""


def _kind(tag: str, given: Mapping[str, str]) -> str:
    if tag == "input":
        return given.get("type") or "text"
    if tag == "button":
        return given.get("type") or "submit"
    if tag == "a":
        return "link" if "href" in given else ""
    return _KINDS.get(tag, "")
