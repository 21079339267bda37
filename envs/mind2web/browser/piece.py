"""What an element is with all that it holds: what a browser knows about it, and how it reads as text.

A piece says nothing of the place where its element stands. So one that stands in several places, such as the link of a
menu, is looked at once. What only holds others, such as the row of a table, is none: it is looked at anew.

In the text, an element that cannot be acted on and says nothing gives way to its only child, as published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from simia_gym.envs.mind2web.browser.tree import Element, squeeze, walk

CONTROLS = frozenset({"input", "select", "textarea", "button"})
_PLAIN = frozenset(
    {"td", "th", "tr", "tbody", "thead", "table", "dt", "dd", "dl", "p", "article", "section", "nav", "h1", "body"}
)
"""What neither is nor changes anything that can be acted on, where it has no attribute."""
_PRESSES = frozenset({"a", "button"})
_KINDS = {"select": "list", "textarea": "area"}
_SHOWN = (("type", "type"), ("aria_label", "aria-label"), ("name", "name"), ("placeholder", "placeholder"))
"""The attributes that are shown, each after its published name."""


class Node(NamedTuple):
    """An element in its place.

    Attributes:
        number: The place of the element in document order; the body has 0.
        element: The element.
        parent: The number of the element of `Page.nodes` around it; -1 where there is none.
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


class Mark(NamedTuple):
    """A place in a text where something depends on what was typed, or on which elements have letters.

    Attributes:
        what: ``begin`` and ``end`` of an element that can be acted on, its ``number``, what it holds (``own``,
            ``area``), and each ``option`` of a list. A link or button that says a text alone is one mark, ``press``.
        place: Where in the text of a ``press`` its number stands.
        text: The text of a ``press``.
    """

    what: Literal["begin", "number", "option", "own", "area", "end", "press"]
    place: int = 0
    text: str = ""


_BEGIN, _NUMBER, _OPTION = Mark("begin"), Mark("number"), Mark("option")
_OWN, _AREA, _END = Mark("own"), Mark("area"), Mark("end")
Part = str | Mark


class Piece:
    """An element and what it holds.

    Attributes:
        size: How many elements it is.
        nodes: The elements that matter to a browser, in document order. Numbers count from the begin of the piece; -1
            stands for what lies around it.
        parts: The text. Its marks are those of the elements that can be acted on and are shown, in their order.
        shown: Whether anything of it is shown.
        owned: Whether a control names the form that it belongs to.
    """

    __slots__ = ("nodes", "owned", "parts", "shown", "size")

    def __init__(self, size: int, nodes: Sequence[Node], parts: Sequence[Part], shown: bool, owned: bool) -> None:
        self.size, self.nodes, self.parts, self.shown, self.owned = size, nodes, parts, shown, owned


def whole(body: Element) -> Piece:
    """The piece of a page."""
    if not is_plain(body):
        return _piece(body)
    held = _Held()
    held.add(body)
    return Piece(held.size, held.nodes, joined(held.parts), True, held.owned)


def is_plain(element: Element) -> bool:
    """Whether an element only holds others."""
    return not element.attributes and element.tag in _PLAIN


class _Held:
    """What is read so far of what stands in an element, or of a page.

    Args:
        size: How many elements come before.
        form: The number of the form around it.
        parent: The number of the element around it.
    """

    __slots__ = ("form", "nodes", "owned", "parent", "parts", "size")

    def __init__(self, size: int = 0, form: int = -1, parent: int = -1) -> None:
        self.size, self.form, self.parent = size, form, parent
        self.owned = False
        self.nodes: list[Node] = []
        self.parts: list[Part] = []

    def add(self, element: Element) -> bool:
        """Adds a plain element; says whether anything of it is shown."""
        tag, parts = element.tag, self.parts
        begin = len(parts)
        parts.append("")
        self.size += 1
        texts, full = self.add_all(element.children)
        if not texts and full <= 1 and tag != "body":
            return full > 0
        if full:
            parts[begin] = f"<{tag}>"
            parts.append(f"</{tag}>")
        else:
            parts[begin] = f"<{tag} />"
        return True

    def add_all(self, children: tuple[Element | str, ...]) -> tuple[bool, int]:
        """Adds what stands in an element; says whether there are texts, and how much of it is shown."""
        texts, full, parts = False, 0, self.parts
        for child in children:
            if isinstance(child, str):
                texts = True
                if said := squeeze(child):
                    parts.append(f" {said} ")
                    full += 1
                continue
            tag, inner = child.tag, child.children
            if child.attributes or tag not in _PLAIN:
                if not inner or (len(inner) == 1 and isinstance(inner[0], str)):
                    full += self._leaf(child, inner)
                else:
                    full += self._place(child.piece or _piece(child))
            elif len(inner) == 1 and isinstance(inner[0], str):
                said = squeeze(inner[0])
                parts.append(f"<{tag}> {said} </{tag}>" if said else f"<{tag} />")
                full += 1
                self.size += 1
            else:
                full += self.add(child)
        return texts, full

    def _leaf(self, element: Element, inner: tuple[Element | str, ...]) -> bool:
        """Adds an element that a browser knows and that holds a text or nothing; says whether it is shown."""
        tag = element.tag
        given = dict(element.attributes)
        kind, hidden = _kind(tag, given), "hidden" in given
        unseen = hidden or kind == "hidden"
        number, form = self.size, self.form
        off = tag in CONTROLS and "disabled" in given
        self.nodes.append(Node(number, element, self.parent, unseen, off, number if tag == "form" else form, kind))
        self.size = number + 1
        self.owned = self.owned or "form" in given
        if unseen:
            return False
        said = squeeze(str(inner[0])) if inner else ""
        if tag in _PRESSES and kind:
            told = _told(kind, given)
            text = f"<{tag}{told}> {said} </{tag}>" if said else f"<{tag}{told} />"
            self.parts.append(Mark("press", len(tag) + 1, text))
            return True
        if tag == "option":
            self.parts += ("<option", _OPTION, f"> {said} </option>" if said else "></option>")
            return True
        parts, shown = _written(tag, given, kind, [f" {said} "] if said else [], bool(inner), bool(said))
        self.parts += parts
        return shown

    def _place(self, piece: Piece) -> bool:
        """Adds a piece; says whether it is shown."""
        size, outer, around = self.size, self.parent, self.form
        for number, element, parent, hidden, disabled, form, kind in piece.nodes:
            place = Node(
                size + number,
                element,
                size + parent if parent >= 0 else outer,
                hidden,
                disabled,
                size + form if form >= 0 else around,
                kind,
            )
            self.nodes.append(place)
        self.parts += piece.parts
        self.size += piece.size
        self.owned = self.owned or piece.owned
        return piece.shown


def _piece(element: Element) -> Piece:
    """The piece of an element that a browser knows, which keeps it."""
    tag, children = element.tag, element.children
    given = dict(element.attributes)
    kind = _kind(tag, given)
    hidden = "hidden" in given
    unseen = hidden or kind == "hidden"
    form = 0 if tag == "form" else -1
    node = Node(0, element, -1, unseen, tag in CONTROLS and "disabled" in given, form, kind)
    held = _Held(1, form, 0)
    texts, full = held.add_all(children)
    inner = held.nodes
    if hidden:
        inner = [one._replace(hidden=True) for one in inner]
    elif tag == "fieldset" and "disabled" in given:
        inner = list(_closed(element, inner))
    parts: tuple[Part, ...] = ()
    shown = False
    if not unseen:
        parts, shown = _written(tag, given, kind, held.parts, texts, full)
    piece = Piece(held.size, (node, *inner), parts, shown, "form" in given or held.owned)
    element.piece = piece
    return piece


def _closed(fieldset: Element, inner: Sequence[Node]) -> Iterator[Node]:
    """The elements in a disabled fieldset, whose controls are disabled; its first legend stays usable."""
    legend = next((one for one in inner if one.element.tag == "legend" and one.parent == 0), None)
    usable = range(0) if legend is None else range(legend.number, legend.number + len(list(walk(legend.element))))
    for one in inner:
        off = one.element.tag in CONTROLS and one.number not in usable
        yield one._replace(disabled=True) if off else one


def _written(
    tag: str, given: Mapping[str, str], kind: str, inner: Sequence[Part], texts: bool, full: int
) -> tuple[tuple[Part, ...], bool]:
    """The text of an element that is no link or button with a text alone, and whether it is shown."""
    if tag == "option":
        return joined(["<option", _OPTION, ">", *inner, "</option>"]), True
    told = _told(kind, given)
    if kind == "area":
        return joined([_BEGIN, f"<{tag}", _NUMBER, told, _AREA, _END]), True
    if kind:
        own: list[Part] = [_OWN] if tag == "input" else []
        end: list[Part] = [">", *inner, f"</{tag}>"] if full else [" />"]
        return joined([_BEGIN, f"<{tag}", _NUMBER, told, *own, *end, _END]), True
    if not given and not texts and full <= 1:
        return tuple(inner), full > 0
    return joined([f"<{tag}{told}>", *inner, f"</{tag}>"] if full else [f"<{tag}{told} />"]), True


def joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts with texts that follow each other as one."""
    found: list[Part] = []
    waiting = ""
    for part in parts:
        if isinstance(part, str):
            waiting += part
        else:
            if waiting:
                found.append(waiting)
                waiting = ""
            found.append(part)
    if waiting:
        found.append(waiting)
    return tuple(found)


def said_by(kind: str, given: Mapping[str, str]) -> list[tuple[str, str]]:
    """What is always shown of an element's attributes, under the published names."""
    found = [(shown, value) for shown, name in _SHOWN if (value := given.get(name))]
    if kind in ("checkbox", "radio"):
        found.append(("value", given.get("value") or "on"))
    return found


def _told(kind: str, given: Mapping[str, str]) -> str:
    """What is shown of attributes, as it stands in a tag."""
    return "".join([f" {squeeze(value)}" for _, value in said_by(kind, given)]) if given else ""


def _kind(tag: str, given: Mapping[str, str]) -> str:
    if tag == "input":
        return given.get("type") or "text"
    if tag == "button":
        return given.get("type") or "submit"
    if tag == "a":
        return "link" if "href" in given else ""
    return _KINDS.get(tag, "")
