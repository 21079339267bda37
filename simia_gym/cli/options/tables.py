"""Generates the documentation's tables of options from the settings classes.

A page has a table between ``<!-- options module:Class -->`` and ``<!-- end of options -->``. Update all tables with
``python -m simia_gym.cli.options.tables docs/*.md``.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

from simia_gym.cli.options.generate import Option, options_of

_MARKED = re.compile(r"(<!-- options ([\w.]+):(\w+) -->\n)(.*?)(<!-- end of options -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """Update the tables of a page.

    Args:
        page: The page's text.

    Returns:
        The text with all tables generated from the current settings.
    """

    def table(found: re.Match[str]) -> str:
        options = options_of(getattr(import_module(found[2]), found[3]))
        return f"{found[1]}\n| option | default | |\n|---|---|---|\n{''.join(map(_row, options))}\n{found[5]}"

    return _MARKED.sub(table, page)


def _row(option: Option) -> str:
    unset, value = option.shown["unset"], option.default
    default = "" if value is None or value is False or value in ({}, ()) else f"`{'on' if value is True else value}`"
    flag = f"{option.flag}`, `--no-{option.flag[2:]}" if value is True else option.flag
    shape = ", ".join(option.choices) or option.shown["metavar"] or ""
    typed = f"{flag} {shape}" if shape and not option.choices else flag
    says = f"{option.field.description} ({shape})" if option.choices else option.field.description
    return f"| `{typed}` | {default or unset or ''} | {says} |\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(with_tables(Path(name).read_text(encoding="utf-8")), encoding="utf-8")
