"""What a reader sees in an observation: the page with its rows, fields and steps, the task, and what was done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple


class Press(NamedTuple):
    """A link or a button.

    Attributes:
        words: Its words.
        letter: Its letter; empty where it is not among the choices that are shown.
    """

    words: str
    letter: str


class SeenField(NamedTuple):
    """A field of a form.

    Attributes:
        label: What it is called.
        kind: A field for text, a list, radio buttons, or a box to check.
        value: What stands in it, the words of what is chosen, or ``yes`` for a box that is checked.
        letter: Its letter; empty for radio buttons, and where it is not among the choices that are shown.
        options: The words of what can be chosen, and the letters of radio buttons.
    """

    label: str
    kind: Literal["text", "list", "radio", "flag"]
    value: str
    letter: str
    options: tuple[Press, ...] = ()


class SeenRow(NamedTuple):
    """A row: its cells by the names of their columns, and its steps."""

    cells: Mapping[str, str]
    steps: tuple[Press, ...]


class Deed(NamedTuple):
    """A past action: the role and the name of the element, what was done, and the value."""

    role: str
    name: str
    op: str
    value: str

    @property
    def fills(self) -> bool:
        """Whether it changed a field, so that the page stayed open."""
        return self.op != "CLICK" or self.role not in ("link", "button")


class Seen(NamedTuple):
    """A page with its task.

    Attributes:
        task: The sentence of the task.
        past: The last five actions, the newest one last.
        heading: The heading.
        words: The paragraphs.
        menu: The steps that every page has.
        rows: The blocks of rows, each of a table or of cards.
        fields: The fields of forms.
        steps: What else can be pressed outside of rows.
    """

    task: str
    past: tuple[Deed, ...]
    heading: str
    words: tuple[str, ...]
    menu: tuple[Press, ...]
    rows: tuple[tuple[SeenRow, ...], ...]
    fields: tuple[SeenField, ...]
    steps: tuple[Press, ...]
