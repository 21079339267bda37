"""The forms in which people write a value: a small number in words, a date by its month, an id without its kind."""

from __future__ import annotations

import calendar
import re
from typing import Any

from simia_gym.language.answer import NUMBER_WORDS

_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(\d\d)")
_ENDINGS = {1: "st", 21: "st", 31: "st", 2: "nd", 22: "nd", 3: "rd", 23: "rd"}


def forms(value: Any) -> list[str]:
    """The forms of a value; ``gift_card_17`` may be written as ``17`` and as ``gift card``."""
    text = str(value)
    kind, _, number = text.rpartition("_")
    found = [text.lstrip("#"), *([number, kind.replace("_", " ")] if kind and number.isdigit() else [])]
    if isinstance(value, int) and value in range(len(NUMBER_WORDS)):
        found.append(NUMBER_WORDS[value])
    date = _DATE.fullmatch(text)
    if date is not None:
        month, day = int(date[1]), int(date[2])
        for name in (calendar.month_name[month], calendar.month_abbr[month]):
            found += [f"{name} {day}", f"{name} {day}{_ENDINGS.get(day, 'th')}", f"{day} {name}"]
    return found
