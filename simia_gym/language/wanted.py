"""Searches messages for a text: compares numbers by value and words as whole words, ignoring layout and letter case.

Also gives the forms in which people write a value.
"""

from __future__ import annotations

import calendar
import re
from decimal import Decimal
from functools import lru_cache
from typing import Any

from simia_gym.language.numbers import NUMBER_WORDS
from simia_gym.language.reading import Reading
from simia_gym.language.text import normal, spaced

_ASKED = re.compile(r"([-+]?)[$€£¥]?\s?([-+]?)(0|[1-9]\d*|\d*\.\d+)(\s?%)?")
_COUNT = re.compile(rf"(\d+|no|{'|'.join(NUMBER_WORDS)}) ((?:[a-z]+ )*?[a-z]+?)s?")
"""A count with what is counted, such as "6 bags"."""
_LABELLED = re.compile(
    r"s?(?: \(?(?:in total|total|altogether|overall|count|after the change|now)\)?)?:? (?:\d+ ?(?:→|->) ?)?"
    rf"(\d+|no|{'|'.join(NUMBER_WORDS)})(?![\w%]|[.,:/]\d| ?(?:→|->))"
)
"""What follows a label, up to its count: "(total): 6", or ": 5 → 6"."""
_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(\d\d)")
_ENDINGS = {1: "st", 21: "st", 31: "st", 2: "nd", 22: "nd", 3: "rd", 23: "rd"}


class Wanted:
    """A text to search for. Create it with `wanted`, which caches.

    A number matches the same value in any notation: ``12.50`` matches ``$12.5``, ``1234`` matches ``1,234.00``. It does
    not match inside a longer number, an id, a word or a date. A number without a sign also matches its negative, as in
    "difference: -$12.50". Any other text matches as whole words; "t-shirt" and "t shirt" are the same, and so are "6
    bags" and the label "Bags (total): 6".
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
            self._phrase = spaced(self._plain)
            count = _COUNT.fullmatch(self._phrase)
            self._count, self._counted = (count[1], count[2]) if count else ("", "")

    def competitors(self, reading: Reading) -> int:
        """The number of other values of the same kind in a message: other numbers, or other ids of the same shape."""
        if self._value is not None:
            return len({abs(value) for value, _ in reading.numbers} - {abs(self._value)})
        if not any(char.isdigit() for char in self._plain):
            return 0
        # Ids of the same kind differ only in their digits.
        shape = re.sub(r"\d+", r"\\d+", re.escape(self._plain))
        return len(set(re.findall(rf"(?<!\w){shape}(?!\w)", reading.words)) - {self._plain})

    def stands_in(self, reading: Reading) -> bool:
        """Whether a message contains the text."""
        if self._value is None:
            return _stands(self._phrase, reading.spaced) or self._labels(reading.spaced)
        for value, percent in reading.numbers:
            if self._value == (value if self._signed else abs(value)) and (percent or not self._percent):
                return True
        return False

    def _labels(self, text: str) -> bool:
        """Whether what is counted stands in a text as the label of the count, such as "Bags: 6"."""
        at = text.find(self._counted) if self._counted else -1
        while at >= 0:
            label = _LABELLED.match(text, at + len(self._counted))
            if label and label[1] == self._count and not (at and _goes_on(text[at], text[at - 1])):
                return True
            at = text.find(self._counted, at + 1)
        return False


def _stands(phrase: str, text: str) -> bool:
    """Whether a phrase stands in a text, and not only inside longer words, numbers and ids."""
    at = text.find(phrase) if phrase else -1
    while at >= 0:
        end = at + len(phrase)
        before, after = text[max(0, at - 2) : at][::-1], text[end : end + 2]
        of_an_id = before.startswith("#") and phrase[0].isdigit()
        if not (of_an_id or _goes_on(phrase[0], before) or _goes_on(phrase[-1], after)):
            return True
        at = text.find(phrase, at + 1)
    return False


def _goes_on(edge: str, beyond: str) -> bool:
    """Whether the word or number at an edge of a phrase goes on in the text beyond it, which is read outwards."""
    if not beyond or not (edge.isalnum() or edge == "_"):
        return False
    if beyond[0].isalnum() or beyond[0] == "_":
        return True
    return edge.isdigit() and beyond[0] in ".,:/-" and beyond[1:].isdigit()


# Without the cache, retail plays 8 to 20% fewer steps a second.
@lru_cache(maxsize=4096)
def wanted(text: str) -> Wanted:
    """The cached `Wanted` of a text."""
    return Wanted(text)


def contains_plainly(text: str, want: str) -> bool:
    """The published tau2 rule: a case-insensitive substring search in the message without its commas."""
    return want.lower() in text.lower().replace(",", "")


def forms(value: Any) -> list[str]:
    """The forms of a value; ``gift_card_17`` may be written as ``17`` and as ``gift card``."""
    text = str(value)
    kind, _, number = text.rpartition("_")
    found = [text.lstrip("#"), *([number, kind.replace("_", " ")] if kind and number.isdigit() else [])]
    if isinstance(value, int) and value in range(len(NUMBER_WORDS)):
        found.append(NUMBER_WORDS[value])
    date = _DATE.fullmatch(text)
    if date is not None:
        year, month, day = text[:4], int(date[1]), int(date[2])
        nth = f"{day}{_ENDINGS.get(day, 'th')}"
        for name in (calendar.month_name[month], calendar.month_abbr[month]):
            found += [f"{name} {day}", f"{name} {nth}", f"{day} {name}", f"{nth} {name}", f"{nth} of {name}"]
        numbers = (f"{first}/{second}" for first in {month: 0, date[1]: 0} for second in {day: 0, date[2]: 0})
        found += [form for number in numbers for form in (number, f"{number}/{year}")]
    return found
