"""Finds spans of time and days, and the deadlines among them: within which time, or by which day, something happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from simia_gym.language.clause import clause_before, uncertain
from simia_gym.language.numbers import NUMBER_WORDS
from simia_gym.language.text import Sentence

_MINUTES = {"minute": 1, "hour": 60, "hr": 60, "day": 1440, "week": 10080, "month": 43200}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NUMBERS = {name: float(number) for number, name in enumerate(NUMBER_WORDS)} | {"a": 1.0, "an": 1.0}
_COUNT = rf"\d+(?:\.\d+)?|{'|'.join(_NUMBERS)}"
_SPAN = (
    rf"(?!a minute)(?P<low>{_COUNT})(?: ?(?:-|to|or) ?(?P<high>{_COUNT}))?[ -]"
    rf"(?:(?:more|full|business|working|calendar) )*(?P<unit>{'|'.join(_MINUTES)})s?\b"
)
_DAY = (
    rf"(?:(?P<month>{'|'.join(_MONTHS)})[a-z]* (?P<date>\d\d?)(?:st|nd|rd|th)?\b|\d{{4}}-(?P<iso>\d\d-\d\d)(?!\d)"
    r"|(?P<name>(?:tomorrow|tonight)\b|(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b(?!,? (?:the )?(?:\d|[a-z]+ \d))"
    r"|end of (?:the |this |next )?(?:business )?(?:day|week|month)\b|next (?:week|month)\b))"
)
_TIME = re.compile(rf"\b(?:{_SPAN}|{_DAY})")
_ABOUT = r"(?:(?:about|around|approximately|roughly|the|this|next|another|half|just|only|up to|at most|later than) )*"
_HAVE = r"(?:expect|you(?:'ll| will| shall)? (?:get|receive)|you(?:'ll| will| shall) have)"
_DEADLINE = re.compile(
    rf"\b(?:within|in|takes?|allow|expect|less than|(?:timing|timeline|eta|delivery|arrival|refund):) {_ABOUT}{_SPAN}"
    rf"|\b(?:by|before|until|no|{_HAVE} (?:\w+ ){{1,4}}?on) {_ABOUT}{_DAY}|\btomorrow\b"
)
_OPEN = uncertain("nor|cannot|was|were|had")


class Time(NamedTuple):
    """A span of time, or a day.

    Attributes:
        said: The words.
        day: The day, such as ``friday`` or ``05-20``; ``""`` for a span.
        low: The shortest that a span may be, in minutes.
        high: The longest.
    """

    said: str
    day: str
    low: float
    high: float

    def covers(self, other: Time) -> bool:
        """Whether another time is the same, or lies in this one."""
        return self.day == other.day and self.low <= other.low and other.high <= self.high


def times_in(text: str) -> Iterator[Time]:
    """Find the spans of time and the days in a normalised text; business days count as days."""
    for found in _TIME.finditer(text):
        if found["unit"]:
            low, high = (_NUMBERS.get(count) or float(count) for count in (found["low"], found["high"] or found["low"]))
            yield Time(found[0], "", low * _MINUTES[found["unit"]], high * _MINUTES[found["unit"]])
        else:
            date = found["date"] and f"{_MONTHS.index(found['month']) + 1:02d}-{int(found['date']):02d}"
            yield Time(found[0], found["name"] or found["iso"] or date, 0, 0)


def deadlines_in(sentence: Sentence) -> Iterator[Time]:
    """Find the times in one sentence within which, or by which, something happens for certain."""
    for found in () if sentence.question else _DEADLINE.finditer(sentence.plain):
        if not _OPEN.search(clause_before(sentence.plain, found.start())):
            yield from times_in(found[0])
