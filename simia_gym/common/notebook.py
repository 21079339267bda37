"""How results show themselves as text and in a notebook: as their tables look in a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from typing import cast

from rich.console import Console, RenderableType
from rich.text import Text

_WIDTH = 120
_FORM = '<pre style="white-space:pre;overflow-x:auto;line-height:1.3">{code}</pre>'


def as_text(parts: Iterable[RenderableType]) -> str:
    """Tables and lines as plain text, as wide as the terminal."""
    console = _console(Console().width)
    _print(console, parts)
    return cast(StringIO, console.file).getvalue().rstrip()


def as_html(parts: Iterable[RenderableType]) -> str:
    """Tables and lines as HTML; every text in them is escaped."""
    console = _console(_WIDTH, record=True)
    _print(console, parts)
    return console.export_html(inline_styles=True, code_format=_FORM)


def _console(width: int, *, record: bool = False) -> Console:
    """A console into a text; in a notebook rich would show what is printed there, and leave the text empty."""
    return Console(file=StringIO(), record=record, width=width, highlight=False, emoji=False, force_jupyter=False)


def _print(console: Console, parts: Iterable[RenderableType]) -> None:
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text))
