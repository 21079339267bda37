"""Finds what else was offered where a value was shown: the first of the lines, or of the ids, of its kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_LONGEST = 80
_LEAST = 4
"""An id has so many characters at least."""
_AFTER = 3
"""So much of what follows a value in its line is the same in the other lines."""


def first_offered(value: Any, shown: Sequence[str]) -> Any:
    """The first of the options among which a value was shown last; the value itself where it was shown alone.

    Args:
        value: An argument of a call; within lists and objects each text is looked at.
        shown: The texts that were shown, the oldest first.
    """
    if isinstance(value, dict):
        return {name: first_offered(item, shown) for name, item in value.items()}
    if isinstance(value, list):
        return [first_offered(item, shown) for item in value]
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST or "\n" in value:
        return value
    whole = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")
    for text in reversed(shown):
        if whole.search(text):
            found = _first_line(value, whole, text)
            return _first_id(value, text) if found is None else found
    return value


def _first_line(value: str, whole: re.Pattern[str], text: str) -> str | None:
    """The value in the first of several lines that are written alike."""
    lines = text.splitlines()
    found = next(match for line in lines if (match := whole.search(line)))
    before, after = found.string[: found.start()], found.string[found.end() :]
    inside = r"\S+?" if value.split() == [value] else ".+?"
    end = re.escape(after[:_AFTER]) if after else "$"
    alike = re.compile(rf"{re.escape(before)}({inside}){end}")
    options = [match[1] for line in lines if (match := alike.match(line))]
    return options[0] if len(options) > 1 else None


def _first_id(value: str, text: str) -> str:
    """The first id that is made as the value is."""
    if len(value) < _LEAST or not any(map(str.isdigit, value)):
        return value
    letters = "a-z" if value.islower() else "A-Z" if value.isupper() else "A-Za-z"

    def kind(part: re.Match[str]) -> str:
        run = part[0]
        return rf"[{letters}0-9]{{{len(run)}}}" if any(map(str.isdigit, run)) else f"[{letters}]+"

    made = re.sub("[A-Za-z0-9]+", kind, re.escape(value))
    for match in re.finditer(rf"(?<!\w){made}(?!\w)", text):
        if any(map(str.isdigit, match[0])):
            return match[0]
    return value
