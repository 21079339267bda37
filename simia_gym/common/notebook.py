"""How results show themselves in a notebook: as their tables look in a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from rich.console import Console, RenderableType
from rich.text import Text

_WIDTH = 120
_FORM = '<pre style="white-space:pre;overflow-x:auto;line-height:1.3">{code}</pre>'


def as_html(parts: Iterable[RenderableType]) -> str:
    """Tables and lines as HTML; every text in them is escaped."""
    console = Console(file=StringIO(), record=True, width=_WIDTH, highlight=False, emoji=False)
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text))
    return console.export_html(inline_styles=True, code_format=_FORM)
