"""Format numbers for people (counts, shares, means, intervals, amounts), and texts for file names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from simia_gym.common.json_encoding import encode

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
NONE = "–"
"""Shown instead of a missing value."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """A count with its noun: ``1 call``, ``1,200 calls``."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share as a percentage: ``97.5%``, or a dash."""
    return NONE if share is None else f"{100 * share:.{digits}f}%"


def number(value: float | None, digits: int = 2) -> str:
    """A number with a fixed number of decimal digits, or a dash."""
    return NONE if value is None else f"{value:.{digits}f}"


def interval(bounds: Sequence[float] | None, digits: int = 0) -> str:
    """An interval of a share: ``94–100%``, or a dash."""
    return NONE if bounds is None else f"{100 * bounds[0]:.{digits}f}–{percent(bounds[1], digits)}"


def compact(count: float) -> str:
    """A number in at most four characters: 950, 1.2k, 34k, 5.6M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            value = count / size
            return f"{value:.1f}{unit}" if value < 10 else f"{value:.0f}{unit}"
    return f"{count:.0f}"


def dollars(cost: float) -> str:
    """An amount of US dollars: ``$12.34``, ``$0.0042``."""
    return f"${cost:,.2f}" if cost >= 0.1 or not cost else f"${cost:.2g}" if cost >= 0.0001 else "<$0.0001"


def visible(text: str) -> str:
    """A text of a file or a server whose control characters are shown, so that they do nothing to a terminal."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def one_line(text: str, most: int | None = None) -> str:
    """A text without line breaks, cut to ``most`` characters if given."""
    line = " ".join(text.split())
    return line if most is None or len(line) <= most else f"{line[: most - 1]}…"


def shown(value: Any, most: int = 120) -> str:
    """A JSON value in one line, cut to ``most`` characters."""
    return one_line(encode(value).decode(), most)


def slug(text: str) -> str:
    """The text as a word that is safe in a file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "x"
