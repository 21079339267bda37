"""Cells of a table: their names, their values, and how they are shown.

A row of the state holds a sheet as ``{"B3": value}``. A value is a text, a number, a truth, or an object with one key,
``date``, ``time`` or ``formula``, and its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from simia_gym.envs.officebench.texts import LONGEST, problem_of
from simia_gym.errors import ToolError

ROWS, COLUMNS = 1_048_576, 16_384
EMPTY = "[Empty Cell]"
CellValue: TypeAlias = str | int | float | bool | Mapping[str, str]

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")
_NAME = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")
_DENSE = 4_000
"""Most cells of a table that is shown with its empty rows."""


def name_of(row: int, column: int) -> str:
    """The name of a cell, such as ``B3``, by its row and column from 1."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row}"


@lru_cache(4_096)
def place_of(name: str) -> tuple[int, int]:
    """Row and column of a cell, from 1."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(f"{name!r} is no name of a cell")
    column = 0
    for letter in found[1]:
        column = 26 * column + ord(letter) - 64
    return int(found[2]), column


def cell_for(row: int, column: int, failed: str) -> str:
    """The name of a cell that a call names by its indexes.

    Raises:
        ToolError: ``bad_cell``: there is no such row or column.
    """
    if not (1 <= row <= ROWS and 1 <= column <= COLUMNS):
        why = f"Rows go from 1 to {ROWS}, columns from 1 to {COLUMNS}; this is row {row}, column {column}."
        raise ToolError(failed, "bad_cell", why)
    return name_of(row, column)


def typed(text: str | int | float, failed: str) -> CellValue:
    """The value that somebody types into a cell: a number where the text is one, a formula behind ``=``, else text.

    Raises:
        ToolError: ``bad_text``: a workbook cannot hold the text.
    """
    if not isinstance(text, str):
        return text
    if problem := problem_of(text, most=LONGEST):
        raise ToolError(failed, "bad_text", f"The text {problem}.")
    plain = text.strip()
    if _NUMBER.fullmatch(plain):
        return float(plain) if "." in plain else int(plain)
    return {"formula": text} if text.startswith("=") and len(text) > 1 else text


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, types included: 1, 1.0 and true are three."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, str) or not isinstance(one, Sequence):
        return type(one) is type(other) and bool(one == other)
    return isinstance(other, Sequence) and len(one) == len(other) and all(map(same, one, other))


def shown(value: Any) -> str:
    """A value as an observation shows it."""
    if isinstance(value, Mapping):
        return str(next(iter(value.values())))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def grid(cells: Mapping[str, Any]) -> Iterator[tuple[int, list[tuple[int, Any]]]]:
    """The rows of a table with their number, each with the columns and values up to the last column in use.

    Rows without a value are there, too, if the table is not large.
    """
    placed: dict[int, dict[int, Any]] = {}
    for name, value in cells.items():
        row, column = place_of(name)
        placed.setdefault(row, {})[column] = value
    if not placed:
        return
    width, height = max(max(row) for row in placed.values()), max(placed)
    dense = width * height <= _DENSE
    for number in range(1, height + 1) if dense else sorted(placed):
        row_cells = placed.get(number, {})
        columns = range(1, width + 1) if dense else sorted(row_cells)
        yield number, [(column, row_cells.get(column)) for column in columns]


def table_text(cells: Mapping[str, Any]) -> str:
    """A table as an observation shows it: ``(1, 1): Name<tab>(1, 2): [Empty Cell]<tab>``, a line a row."""
    lines = []
    for row, values in grid(cells):
        parts = (f"({row}, {column}): {EMPTY if value is None else shown(value)}\t" for column, value in values)
        lines.append("".join(parts))
    return "\n".join(lines)


def plain_lines(cells: Mapping[str, Any]) -> list[str]:
    """A table as lines of text, as a printed page has it."""
    return [
        " ".join("" if value is None else shown(value) for _, value in values).rstrip() for _, values in grid(cells)
    ]
