"""Cues: regular expressions that are tried only on texts that hold a literal which every match needs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from simia_gym.errors import InputError

_ESCAPE_OR_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")
_GROUP = re.compile(r"\([^()]*\)(?:[?*+]|\{[^}]*\})*")
_OPTIONAL = re.compile(r".[?*]|.\{[^}]*\}")


class Cue:
    """Several regular expressions over lower-case text, of which any may match.

    Args:
        patterns: The expressions.
        where: Where they stand, for error messages.

    Raises:
        InputError: One of them is no regular expression.
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
                raise InputError(f"{pattern!r} is no regular expression: {error}", where=where, fix=fix) from error

    def find(self, text: str) -> int | None:
        """Give the position of the first match, or ``None``."""
        found = [hit.start() for needs, pattern in self._branches if needs in text and (hit := pattern.search(text))]
        return min(found, default=None)

    def occurs(self, text: str) -> bool:
        """Whether any of them matches."""
        return any(needs in text and pattern.search(text) is not None for needs, pattern in self._branches)


def alternatives(pattern: str) -> list[str]:
    """Split an expression at the ``|`` that stand outside all parentheses and classes."""
    parts, depth = [""], 0
    for piece in re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", pattern, re.DOTALL):
        depth += (piece == "(") - (piece == ")")
        if piece == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def needed(branch: str) -> str:
    """Give a literal that stands in every text that a branch matches; ``""`` where none is found."""
    rest = _ESCAPE_OR_CLASS.sub("\0", branch)
    while (shorter := _GROUP.sub("\0", rest)) != rest:
        rest = shorter
    return max(re.split(r"[^\w '#/-]+", _OPTIONAL.sub("\0", rest)), key=lambda part: len(part.strip()))
