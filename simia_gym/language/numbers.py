"""Finds the numbers and the amounts of money in a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

NUMBER_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
# One pass over a text: first texts that contain digits but are not numbers, then numbers (as groups).
_NUMBER = re.compile(
    r"""
      \b https?://\S+ | (?<!\S)[^\s@]+@\S+   # addresses
    | \#\w[\w-]*                             # ids such as #W1002
    | \b[a-z_]\w*(?:-\w+)+                   # words with a hyphen, such as item-42
    | \b\d+(?:(?:-\d+){2,}|(?:/\d+){2,}|(?:\.\d+){2,})   # dates, telephone numbers, versions
    | \b\w*\d(?::\d+)+                       # times
    | (?<![\w.])([-+]?)(?:[$€£¥]\s?)?([-+]?)(\d+(?:\.\d+)?|\.\d+)(?!\w)(?!\.\d)(\s?%|\spercent\b)?
    """,
    re.VERBOSE,
)
_DIGITS_AND_SIGNS = frozenset("0123456789$€£¥%")
_AMOUNT = re.compile(
    r"(?:[$€£¥]|\b(?:usd|eur|gbp)) ?(\d+(?:\.\d+)?)"
    rf"|\b(\d+(?:\.\d+)?|{'|'.join(NUMBER_WORDS[1:])})(?= ?(?:(?:us )?dollars?|bucks?|usd)\b(?!:))"
)


def numbers_in(text: str) -> frozenset[tuple[Decimal, bool]]:
    """The numbers in a normalised text, as pairs (value, whether it is a percentage); ids and dates do not count."""
    found = set()
    # Most words contain no digit; dropping them first makes this several times faster.
    words = [word for word in text.split() if not _DIGITS_AND_SIGNS.isdisjoint(word) or word.startswith("percent")]
    for lead, inner, digits, percent in _NUMBER.findall(" ".join(words)):
        if digits:
            value = Decimal(digits)
            found.add((-value if "-" in (lead, inner) else value, bool(percent)))
    return frozenset(found)


def amounts_in(text: str) -> Iterator[Decimal]:
    """Find the amounts of money in a normalised text."""
    for dollars, words in _AMOUNT.findall(text):
        amount = dollars or words
        yield Decimal(amount if amount[0].isdigit() else NUMBER_WORDS.index(amount))
