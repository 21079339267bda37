"""Cues: sets of regular expressions, searched only in texts that contain a literal that every match needs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from simia_gym.errors import InputError

_ESCAPE_OR_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")
_GROUP = re.compile(r"\([^()]*\)(?:[?*+]|\{[^}]*\})*")
_OPTIONAL = re.compile(r".[?*]|.\{[^}]*\}")


class Cue:
    """A set of regular expressions over lower-case text; matches if any of them does.

    Args:
        patterns: The regular expressions.
        where: File and key of the patterns, for error messages.

    Raises:
        InputError: A pattern is not a valid regular expression.
    """

    __slots__ = ("_branches",)

    def __init__(self, patterns: Iterable[str], where: str = "cues") -> None:
        self._branches: list[tuple[str, re.Pattern[str]]] = []
        for pattern in patterns:
            try:
                re.compile(pattern)
                self._branches += [(needed(branch), re.compile(branch)) for branch in alternatives(pattern)]
            except (re.error, TypeError) as error:
                fix = "Correct the pattern."
                raise InputError(f"{pattern!r} is not a regular expression: {error}", where=where, fix=fix) from error

    def find(self, text: str) -> int | None:
        """The position of the first match; ``None`` without a match."""
        found = [hit.start() for needs, pattern in self._branches if needs in text and (hit := pattern.search(text))]
        return min(found, default=None)

    def occurs(self, text: str) -> bool:
        """Whether any of the patterns matches."""
        return any(needs in text and pattern.search(text) is not None for needs, pattern in self._branches)


def alternatives(pattern: str) -> list[str]:
    """Split a regular expression at each ``|`` outside parentheses and character classes."""
    parts, depth = [""], 0
    for piece in re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", pattern, re.DOTALL):
        depth += (piece == "(") - (piece == ")")
        if piece == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def needed(branch: str) -> str:
    """A literal that every match of a branch contains; ``""`` if none is found."""
    rest = _ESCAPE_OR_CLASS.sub("\0", branch)
    while (shorter := _GROUP.sub("\0", rest)) != rest:
        rest = shorter
    return max(re.split(r"[^\w '#/-]+", _OPTIONAL.sub("\0", rest)), key=lambda part: len(part.strip()))
