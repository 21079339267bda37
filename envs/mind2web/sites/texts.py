"""Texts with slots in braces, as ``{title}`` or ``{book.title}``, and dates as people write them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_SLOT = re.compile(r"\{([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*)\}")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_DATE = re.compile(rf"([1-9]|[12]\d|3[01]) ({'|'.join(_MONTHS)}) (\d{{4}})", re.ASCII)


@lru_cache(maxsize=4_096)
def parts(template: str) -> tuple[str, ...]:
    """The parts of a text: words and the names of slots by turns, words first and last."""
    return tuple(_SLOT.split(template))


def slots(template: str) -> tuple[str, ...]:
    """The names of the slots, in their order."""
    return parts(template)[1::2]


def fixed(template: str) -> str:
    """The words before the first slot."""
    return parts(template)[0]


def filled(template: str, value: Callable[[str], str]) -> str:
    """The text with the value of each slot."""
    pieces = parts(template)
    if len(pieces) == 1:
        return template
    if len(pieces) == 3:
        return f"{pieces[0]}{value(pieces[1])}{pieces[2]}"
    return "".join([value(piece) if place % 2 else piece for place, piece in enumerate(pieces)])


def slug(words: str) -> str:
    """Words as a part of a key: small letters and digits, with hyphens between them."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


@lru_cache(maxsize=4_096)
def long_date(day: str) -> str:
    """``3 March 2026`` for ``2026-03-03``."""
    year, month, number = day.split("-")
    return f"{int(number)} {_MONTHS[int(month) - 1]} {year}"


def short_date(words: str) -> str | None:
    """``2026-03-03`` for ``3 March 2026``; None where it is no date."""
    found = _DATE.fullmatch(words.strip())
    return f"{found[3]}-{_MONTHS.index(found[2]) + 1:02}-{int(found[1]):02}" if found else None
