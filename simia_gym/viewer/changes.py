"""What operations change in a state, as lines that are taken out and put in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from simia_gym.errors import PatchError
from simia_gym.state import State, thaw

_AROUND = 2
"""Unchanged lines that are shown around changed ones."""
_MOST_LINES, _MOST_WIDE = 200, 2_000
_COMPARED = 400
"""The most lines of a value that are compared line by line."""


@dataclass(frozen=True, slots=True)
class Change:
    """One operation.

    Attributes:
        path: JSON Pointer of what it changed.
        op: ``add``, ``remove``, ``replace``, or ``reveal`` for a row that a simulator added as initial state.
        lines: Marks (``-``, ``+``, space, or ``…`` for what is left out) and texts.
    """

    path: str
    op: str
    lines: tuple[tuple[str, str], ...]


def changes_of(state: State, ops: Iterable[Mapping[str, Any]], revealed: int = 0) -> tuple[State, list[Change]]:
    """Apply operations, and say what each has changed.

    Args:
        state: The state before.
        ops: The operations; those that only test are applied and not shown.
        revealed: How many of them, at the beginning, are reveals.
    """
    changes = []
    for number, op in enumerate(ops):
        before = _at(state, op["path"]) if op["op"] in ("replace", "remove") else []
        state = state.apply([op])
        if op["op"] == "test":
            continue
        after = _lines(op["value"]) if "value" in op else []
        name = "reveal" if number < revealed else op["op"]
        changes.append(Change(op["path"], name, tuple(_difference(before, after))))
    return state, changes


def _at(state: State, path: str) -> list[str]:
    try:
        return _lines(state.at(path))
    except PatchError:
        return []


def pretty(value: Any, *, flat: bool = False) -> str:
    """A JSON value as text: indented, or in one line."""
    return json.dumps(thaw(value), ensure_ascii=False, indent=None if flat else 2)


def _lines(value: Any) -> list[str]:
    text = value if isinstance(value, str) and "\n" in value else pretty(value)
    return [line[:_MOST_WIDE] + ("…" if len(line) > _MOST_WIDE else "") for line in text.split("\n")]


def _difference(before: list[str], after: list[str]) -> list[tuple[str, str]]:
    if max(len(before), len(after)) > _COMPARED or not before or not after:
        found = [("-", line) for line in before] + [("+", line) for line in after]
    else:
        found = []
        groups = list(SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_AROUND))
        for place, group in enumerate(groups):
            found += [("…", "")] if place else []
            for tag, a, b, c, d in group:
                if tag == "equal":
                    found += [(" ", line) for line in before[a:b]]
                else:
                    found += [("-", line) for line in before[a:b]] + [("+", line) for line in after[c:d]]
    more = len(found) - _MOST_LINES
    return found if more <= 0 else [*found[:_MOST_LINES], ("…", f"{more} more lines")]
