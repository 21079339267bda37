"""A page: its tree with what a browser knows about every element."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from simia_gym.envs.mind2web.browser.piece import CONTROLS, Node, whole
from simia_gym.envs.mind2web.browser.requests import Pairs
from simia_gym.envs.mind2web.browser.tree import Element

__all__ = ["BUTTONS", "CONTROLS", "TEXTS", "Node", "Page"]

BUTTONS = frozenset({"submit", "button"})
TEXTS = frozenset({"text", "search", "tel", "email", "password"})


class Page:
    """A page that is open in the browser.

    Args:
        draw: Makes its tree, which is not kept: a page plays without it.
        path: The path of its address.
        query: The query of its address.

    Attributes:
        path: The path of its address.
        query: The query of its address.
        nodes: The elements in document order, by their numbers, without those that neither are nor hold anything that
            matters to a browser, such as the cells of a table.
        parts: Its text, as `Piece.parts` says.
    """

    def __init__(self, draw: Callable[[], Element], path: str, query: Pairs | None = None) -> None:
        self._draw, self.path, self.query = draw, path, query
        piece = whole(draw())
        self.parts = piece.parts
        self.nodes = {node.number: node for node in piece.nodes}
        if piece.owned:
            self.nodes = {number: self._owned(node) for number, node in self.nodes.items()}

    @property
    def body(self) -> Element:
        """The tree."""
        return self._draw()

    @cached_property
    def controls(self) -> dict[int, list[Node]]:
        """The elements of forms, in document order, by the number of the form that they belong to."""
        found: dict[int, list[Node]] = {}
        for node in self.nodes.values():
            if node.element.tag in CONTROLS:
                found.setdefault(node.form, []).append(node)
        return found

    @cached_property
    def _ids(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for number, node in self.nodes.items():
            if (name := node.element.get("id")) is not None:
                found.setdefault(name, number)
        return found

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

    def _owned(self, node: Node) -> Node:
        owner = node.element.get("form") if node.element.tag in CONTROLS else None
        if owner is None:
            return node
        number = self._ids.get(owner, -1)
        around = self.nodes.get(number)
        return node._replace(form=number if around is not None and around.element.tag == "form" else -1)
