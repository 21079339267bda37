"""Immutable trees of elements, and the HTML that a real browser reads as the same tree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simia_gym.envs.mind2web.browser.piece import Piece

VOID = frozenset({"input", "br", "hr"})
_SPACES = re.compile(r"[ \t\n\f\r]+")


class Element:
    """One element. Nobody changes it.

    Attributes:
        tag: The name of the element, in lower case.
        attributes: Names and values in their order; an attribute without a value, such as ``required``, has ``""``.
        children: Elements and texts.
        piece: What is known of it with all that it holds, once somebody has looked.
    """

    __slots__ = ("attributes", "children", "piece", "tag")

    def __init__(
        self,
        tag: str,
        attributes: tuple[tuple[str, str], ...] = (),
        children: tuple[Element | str, ...] = (),
    ) -> None:
        self.tag, self.attributes, self.children = tag, attributes, children
        self.piece: Piece | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Element) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        return write(self)

    @property
    def _content(self) -> tuple[object, ...]:
        return self.tag, self.attributes, self.children

    def get(self, name: str) -> str | None:
        """The value of an attribute, or None where it is absent."""
        for key, value in self.attributes:
            if key == name:
                return value
        return None

    def has(self, name: str) -> bool:
        """Whether the attribute is there, whatever its value."""
        return self.get(name) is not None


def element(
    tag: str, attributes: Mapping[str, str | bool | None] | None = None, *children: Element | str | None
) -> Element:
    """Builds an element.

    Args:
        tag: Its name.
        attributes: ``True`` writes an attribute without a value; ``False`` and ``None`` leave it out.
        children: Elements and texts; ``None`` and empty texts are left out.
    """
    held = tuple([child for child in children if child])
    if not attributes:
        return Element(tag, (), held)
    given = [
        (name, value if isinstance(value, str) else "") for name, value in attributes.items() if value or value == ""
    ]
    return Element(tag, tuple(given), held)


def walk(root: Element) -> Iterator[Element]:
    """All elements in document order, the root first."""
    yield root
    for child in root.children:
        if isinstance(child, Element):
            yield from walk(child)


def raw_text(node: Element | str) -> str:
    """The text of a node and of what it holds, as it was written."""
    return node if isinstance(node, str) else "".join(raw_text(child) for child in node.children)


def text(node: Element | str) -> str:
    """The text of a node with single spaces between its words."""
    return squeeze(raw_text(node))


@lru_cache(maxsize=8_192)
def squeeze(words: str) -> str:
    """The words with single spaces, as HTML knows spaces, between them."""
    return _SPACES.sub(" ", words).strip(" ")


def write(root: Element) -> str:
    """The HTML text of a tree."""
    parts: list[str] = []
    _write(root, parts)
    return "".join(parts)


def document(title: str, body: Element) -> str:
    """A whole HTML document.

    Args:
        title: What stands in the window's title.
        body: The tree, with ``body`` as its root.
    """
    head = f'<head><meta charset="utf-8"><title>{escape(title, quote=False)}</title></head>'
    return f'<!DOCTYPE html>\n<html lang="en">{head}{write(body)}</html>'


def _write(node: Element, parts: list[str]) -> None:
    tag = node.tag
    parts.append(f"<{tag}")
    parts.extend(f' {name}="{escape(value)}"' if value else f" {name}" for name, value in node.attributes)
    parts.append(">")
    if tag in VOID:
        return
    if tag == "textarea" and raw_text(node).startswith("\n"):
        parts.append("\n")  # a reader drops the first newline
    for child in node.children:
        if isinstance(child, str):
            parts.append(escape(child, quote=False))
        else:
            _write(child, parts)
    parts.append(f"</{tag}>")
