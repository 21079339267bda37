"""Searches messages for a text: compares numbers by value and words as whole words, ignoring layout and letter case."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

from simia_gym.language.reading import Reading
from simia_gym.language.text import normal

_ASKED = re.compile(r"([-+]?)[$€£¥]?\s?([-+]?)(0|[1-9]\d*|\d*\.\d+)(\s?%)?")
_JOINT = re.compile(r"(?<=[a-z])[- ]|[- ](?=[a-z])")


class Wanted:
    """A text to search for. Create it with `wanted`, which caches.

    A number matches the same value in any notation: ``12.50`` matches ``$12.5``, ``1234`` matches ``1,234.00``. It does
    not match inside a longer number, an id, a word or a date. A number without a sign also matches its negative, as in
    "difference: -$12.50". Any other text matches as whole words; "t-shirt" and "t shirt" are the same.
    """

    def __init__(self, text: str) -> None:
        self._plain = normal(text)
        self._value: Decimal | None = None
        number = _ASKED.fullmatch(self._plain)
        if number is not None:
            value = Decimal(number[3])
            self._signed = bool(number[1] or number[2])
            self._value = -value if "-" in (number[1], number[2]) else value
            self._percent = bool(number[4])
        else:
            self._words = re.compile(_bounded(self._plain)) if self._plain else re.compile(r"(?!)")
            self._needed = max(_JOINT.split(self._plain), key=len)
        # Ids of the same kind differ only in their digits.
        shape = re.sub(r"\d+", r"\\d+", re.escape(self._plain)) if any(c.isdigit() for c in self._plain) else ""
        self._shape = re.compile(rf"(?<!\w){shape}(?!\w)") if shape and number is None else None

    def competitors(self, reading: Reading) -> int:
        """The number of other values of the same kind in a message: other numbers, or other ids of the same shape."""
        if self._value is not None:
            return len({abs(value) for value, _ in reading.numbers} - {abs(self._value)})
        if self._shape is not None:
            return len({found[0] for found in self._shape.finditer(reading.words)} - {self._plain})
        return 0

    def stands_in(self, reading: Reading) -> bool:
        """Whether a message contains the text."""
        if self._value is None:
            return self._needed in reading.words and self._words.search(reading.words) is not None
        for value, percent in reading.numbers:
            if self._value == (value if self._signed else abs(value)) and (percent or not self._percent):
                return True
        return False


def _bounded(plain: str) -> str:
    """A pattern that matches the words but not inside longer words and numbers."""
    first, last = plain[0], plain[-1]
    before = r"(?<!\w)" if first.isalnum() or first == "_" else ""
    after = r"(?!\w)" if last.isalnum() or last == "_" else ""
    if first.isdigit():
        before += r"(?<!\d[.,:/-])(?<!\#)"
    if last.isdigit():
        after += r"(?![.,:/-]\d)"
    return before + "[- ]".join(re.escape(part) for part in _JOINT.split(plain)) + after


# Without the cache, retail plays 8 to 20% fewer steps a second.
@lru_cache(maxsize=4096)
def wanted(text: str) -> Wanted:
    """The cached `Wanted` of a text."""
    return Wanted(text)


def contains_plainly(text: str, want: str) -> bool:
    """The published tau2 rule: a case-insensitive substring search in the message without its commas."""
    return want.lower() in text.lower().replace(",", "")
