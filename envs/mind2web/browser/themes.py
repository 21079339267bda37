"""Themes: the same page in different markup.

A page is described by its blocks, without markup; a theme decides whether rows are a table or cards, whether steps are
links or buttons, whether a choice is a list or radio buttons, and how a field tells its name.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from simia_gym.envs.mind2web.browser.requests import follow
from simia_gym.envs.mind2web.browser.tree import Element, element


class Theme(NamedTuple):
    """How pages are drawn.

    Attributes:
        name: What the theme is called.
        rows: Rows are a table or cards.
        steps: What leads to another page is a link or a button.
        choices: A choice among few is a list or radio buttons.
        labels: Fields are named by a label, an ``aria-label``, or a placeholder where a field has one.
    """

    name: str
    rows: Literal["table", "cards"]
    steps: Literal["link", "button"]
    choices: Literal["list", "radio"]
    labels: Literal["label", "aria-label", "placeholder"]


THEMES = (
    Theme("plain", "table", "link", "list", "label"),
    Theme("cards", "cards", "button", "radio", "aria-label"),
    Theme("tight", "table", "button", "list", "placeholder"),
    Theme("open", "cards", "link", "radio", "label"),
)


class Heading(NamedTuple):
    """The heading of a page or, at level 2, of a part of it."""

    words: str
    level: Literal[1, 2] = 1


class Words(NamedTuple):
    """A paragraph."""

    words: str


class Step(NamedTuple):
    """Something that leads to another page: its words, and an address that begins with ``/``."""

    words: str
    href: str


class Steps(NamedTuple):
    """Steps beside each other, such as a menu."""

    steps: tuple[Step, ...]


class Rows(NamedTuple):
    """Rows of data: the names of the columns, and for each row its cells and the steps that it offers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[Step, ...]], ...]


class Field(NamedTuple):
    """A field of a form.

    Attributes:
        name: The name under which it is sent.
        label: What it is called on the page.
        kind: The type of the input, ``area``, ``choice``, ``flag`` (a box that sends ``yes``) or ``hidden``.
        options: For a choice, pairs of value and text.
        value: What stands in it, or is chosen, at first. A choice with none begins empty.
        limits: Further attributes of the input, such as ``min`` or ``maxlength``.
    """

    name: str
    label: str
    kind: Literal[
        "text", "search", "tel", "email", "password", "number", "date", "area", "choice", "flag", "hidden"
    ] = "text"
    options: tuple[tuple[str, str], ...] = ()
    value: str = ""
    required: bool = False
    limits: tuple[tuple[str, str], ...] = ()


class Form(NamedTuple):
    """A form: its address, how it is sent, its fields, and the words of its button."""

    action: str
    fields: tuple[Field, ...]
    button: str
    method: Literal["get", "post"] = "get"


Block = Heading | Words | Steps | Rows | Form

_FEW = 6
_REMEMBERED = 4_096
"""The parts of pages that are kept: the same menu, fields and steps stand on many pages."""
_TEXTS = {"text", "search", "tel", "email", "password", "number", "area"}


def draw(blocks: tuple[Block, ...], theme: Theme) -> Element:
    """The tree of a page, in the declared part of HTML.

    Args:
        blocks: What stands on the page, from the top.
        theme: How it is drawn.
    """
    return element("body", None, *(_block(block, f"f{number}", theme) for number, block in enumerate(blocks)))


def _block(block: Block, key: str, theme: Theme) -> Element:
    if isinstance(block, Heading):
        return element(f"h{block.level}", None, block.words)
    if isinstance(block, Words):
        return element("p", None, block.words)
    if isinstance(block, Steps):
        return element("nav", None, *(_step(step, theme) for step in block.steps))
    if isinstance(block, Rows):
        return _table(block, theme) if theme.rows == "table" else _cards(block, theme)
    fields = [_field(field, f"{key}-{field.name}", theme) for field in block.fields]
    return element(
        "form", {"action": block.action, "method": block.method}, *fields, element("button", None, block.button)
    )


@lru_cache(maxsize=_REMEMBERED)
def _step(step: Step, theme: Theme) -> Element:
    if theme.steps == "link":
        return element("a", {"href": step.href}, step.words)
    path, query = follow(step.href, "/", None)
    kept = [element("input", {"type": "hidden", "name": name, "value": value}) for name, value in query or ()]
    return element("form", {"action": path}, *kept, _plain("button", step.words))


def _table(block: Rows, theme: Theme) -> Element:
    stepping = any(steps for _, steps in block.rows)
    heads = [_plain("th", name) for name in block.columns] + ([Element("th")] if stepping else [])
    rows = []
    for cells, steps in block.rows:
        shown = [_plain("td", cell) for cell in cells]
        if stepping:
            shown.append(Element("td", (), tuple([_step(step, theme) for step in steps])))
        rows.append(Element("tr", (), tuple(shown)))
    head = Element("thead", (), (Element("tr", (), tuple(heads)),))
    return Element("table", (), (head, Element("tbody", (), tuple(rows))))


# The same words stand in many rows.
@lru_cache(maxsize=_REMEMBERED)
def _plain(tag: str, words: str) -> Element:
    """An element that has only a text."""
    return Element(tag, (), (words,) if words else ())


def _cards(block: Rows, theme: Theme) -> Element:
    cards = []
    for cells, steps in block.rows:
        facts = []
        for name, cell in zip(block.columns, cells, strict=True):
            facts += [_plain("dt", name), _plain("dd", cell)]
        shown = Element("dl", (), tuple(facts))
        cards.append(Element("article", (), (shown, *[_step(step, theme) for step in steps])))
    return Element("section", (), tuple(cards))


@lru_cache(maxsize=_REMEMBERED)
def _field(field: Field, key: str, theme: Theme) -> Element:
    given: dict[str, str | bool | None] = {"name": field.name, "required": field.required}
    if field.kind == "hidden":
        return element("input", {"type": "hidden", "name": field.name, "value": field.value})
    if field.kind == "flag":
        checked = field.value == "yes"
        return _named(
            field, element("input", {"type": "checkbox", **given, "value": "yes", "checked": checked}), key, theme
        )
    if field.kind == "choice":
        if theme.choices == "radio" and len(field.options) <= _FEW:
            return _radios(field, key)
        blank = [] if field.value else [element("option", {"value": ""}, "Choose")]
        options = [
            element("option", {"value": value, "selected": value == field.value}, words)
            for value, words in field.options
        ]
        return _named(field, element("select", given, *blank, *options), key, theme)
    limits: dict[str, str | bool | None] = dict(field.limits)
    if field.kind == "area":
        return _named(field, element("textarea", {**given, **limits}, field.value), key, theme)
    value = field.value or None
    return _named(field, element("input", {"type": field.kind, **given, "value": value, **limits}), key, theme)


def _radios(field: Field, key: str) -> Element:
    """Radio buttons, each called by the words of its option and of the field, as a list would be."""
    buttons = []
    for number, (value, words) in enumerate(field.options):
        given: dict[str, str | bool | None] = {
            "type": "radio",
            "name": field.name,
            "value": value,
            "id": f"{key}-{number}",
        }
        given |= {"checked": value == field.value, "required": field.required}
        buttons += [element("input", given), element("label", {"for": f"{key}-{number}"}, words)]
    return element("fieldset", None, element("legend", None, field.label), *buttons)


def _named(field: Field, control: Element, key: str, theme: Theme) -> Element:
    if theme.labels == "placeholder" and field.kind in _TEXTS:
        return element("p", None, _with(control, "placeholder", field.label))
    if theme.labels == "aria-label" or (theme.labels == "placeholder" and field.kind != "flag"):
        return element("p", None, _with(control, "aria-label", field.label))
    return element("p", None, element("label", {"for": key}, field.label), " ", _with(control, "id", key))


def _with(control: Element, name: str, value: str) -> Element:
    return Element(control.tag, (*control.attributes, (name, value)), control.children)
