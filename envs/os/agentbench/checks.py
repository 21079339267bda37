"""Checks of an answer that AgentBench's tasks name by file; they run here if the task file has none beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import PurePosixPath

_UNITS = {unit: Decimal(1024) ** power for power, unit in enumerate(("", "K", "M", "G", "T", "P"))}
_SIZE = re.compile(r"([+-]?\d{1,40}(?:\.\d{1,40})?)\s*(?:([KMGTP]?)B?|Bytes?)", re.IGNORECASE)


def holds(name: str, given: Sequence[str]) -> bool:
    """Whether a check holds.

    Args:
        name: A key of `CHECKS`.
        given: The answer, and what the scripts before this one wrote.
    """
    if len(given) < 2:
        return False
    try:
        return CHECKS[name](given[0], given[1])
    except ValueError:  # no number
        return False


def own_name(file: str) -> str | None:
    """The check of ours that has a file's name; ``None`` if none has."""
    name = PurePosixPath(file).stem
    return name if name in CHECKS else None


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _size(text: str) -> Decimal:
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    return Decimal(found[1]) * _UNITS[(found[2] or "").upper()]


CHECKS: Mapping[str, Callable[[str, str], bool]] = {
    "containing": lambda answer, wanted: len(_plain(wanted)) > 0 and _plain(wanted) in _plain(answer),
    "in": lambda answer, wanted: len(_plain(answer)) > 0 and _plain(answer) in _plain(wanted),
    "integer-match": lambda answer, wanted: int(answer) == int(wanted),
    "size-match": lambda answer, wanted: _size(answer) == _size(wanted),
    "string-match": lambda answer, wanted: _plain(answer) == _plain(wanted),
}
"""Whether an answer satisfies a check, by the name of its file."""
