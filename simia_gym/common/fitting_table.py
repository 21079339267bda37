"""A table that fits narrow terminals by leaving out its least important columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

_GAP = 2
_LABEL = 26
"""Width in characters that is reserved for labels; longer labels are wrapped."""


@dataclass
class FittingTable:
    """A table of numbers and short texts; each row has a label, which is always shown.

    Args:
        label: Heading of the label column.
        title: Title above the table.
        dispensable: Headings of the columns to leave out on narrow terminals, least important first.
        text: Headings of the columns with left-aligned text.
        total: Whether the last row is a total of the other rows.
    """

    label: str
    _: KW_ONLY
    title: str = ""
    dispensable: Sequence[str] = ()
    text: Sequence[str] = ()
    total: bool = False
    rows: list[tuple[str, Mapping[str, str]]] = field(default_factory=list, init=False)

    def add(self, label: str, cells: Mapping[str, str]) -> None:
        """Add a row; all rows have the same columns, in the same order."""
        self.rows.append((label, cells))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay out the table for the available width."""
        if self.title:
            yield Text(f"\n{self.title}", style="bold")
        names = list(self.rows[0][1]) if self.rows else []
        widths = {name: max(len(text) for text in (name, *(cells[name] for _, cells in self.rows))) for name in names}
        label = min(_LABEL, max(len(text) for text in (self.label, *(text for text, _ in self.rows))))
        for name in self.dispensable:
            if label + sum(_GAP + width for width in widths.values()) > options.max_width:
                widths.pop(name, None)
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
        table.add_column(self.label, overflow="fold")
        for name in widths:
            table.add_column(name, justify="left" if name in self.text else "right", no_wrap=True)
        for place, (text, cells) in enumerate(self.rows, start=1):
            last = self.total and place == len(self.rows)
            if last:
                table.add_section()
            table.add_row(Text(text), *(cells[name] for name in widths), style="bold" if last else None)
        yield table
