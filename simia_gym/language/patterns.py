"""Cue patterns that are cheap on sentences in which they do not occur, which is nearly always.

A cue is a list of regular expressions. Of each alternative the literals are worked out of which one must stand in any
text that it matches; a plain substring test for those decides whether the expression is tried at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from simia_gym.errors import InputError


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
        self._branches: list[tuple[tuple[str, ...], re.Pattern[str]]] = []
        for pattern in patterns:
            try:
                branches = [(needed(branch), re.compile(branch)) for branch in alternatives(pattern)]
            except (re.error, TypeError) as error:
                fix = "Mend the pattern."
                raise InputError(f"{pattern!r} is no pattern: {error}", where=where, fix=fix) from error
            self._branches.extend(branches)

    def find(self, text: str) -> int | None:
        """Where the first match begins, or ``None``."""
        first: int | None = None
        for literals, pattern in self._branches:
            for literal in literals:
                if literal in text:
                    break
            else:
                continue
            found = pattern.search(text)
            if found is not None and (first is None or found.start() < first):
                first = found.start()
        return first

    def occurs(self, text: str) -> bool:
        """Whether any of them matches."""
        for literals, pattern in self._branches:
            for literal in literals:
                if literal in text:
                    if pattern.search(text) is not None:
                        return True
                    break
        return False


def alternatives(pattern: str) -> list[str]:
    """Split an expression at the ``|`` that stand outside all parentheses and classes.

    Args:
        pattern: The expression.

    Returns:
        Expressions that together match the same texts.
    """
    parts, current, depth, in_class = [], "", 0, False
    i = 0
    while i < len(pattern):
        step = 2 if pattern[i] == "\\" else 1
        char = pattern[i : i + step]
        if in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char in "()":
            depth += 1 if char == "(" else -1
        if char == "|" and depth == 0 and not in_class:
            parts.append(current)
            current = ""
        else:
            current += char
        i += step
    return [*parts, current]


def needed(pattern: str) -> tuple[str, ...]:
    """Literals of which at least one stands in every text that the expression matches.

    Args:
        pattern: The expression.

    Returns:
        The literals; the empty string alone, which stands in every text, where nothing can be said.
    """
    found = _needed(_parser.parse(pattern))
    return tuple(sorted(found)) if found else ("",)


def _needed(items: Sequence[Any]) -> frozenset[str] | None:
    best: frozenset[str] | None = None
    run = ""
    for op, value in [*items, (None, None)]:
        if op is sre.LITERAL:
            run += chr(value)
            continue
        options = [frozenset({run})] if run else []
        run = ""
        if op is sre.SUBPATTERN:
            options.append(_needed(value[-1]) or frozenset())
        elif op is sre.BRANCH:
            inner = [_needed(branch) for branch in value[1]]
            if all(inner):
                options.append(frozenset[str]().union(*(part for part in inner if part)))
        elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT) and value[0] >= 1:
            options.append(_needed(value[2]) or frozenset())
        for option in options:
            if option and (best is None or _worth(option) > _worth(best)):
                best = option
    return best


def _worth(literals: frozenset[str]) -> tuple[int, int]:
    """Long literals are rare in a text, and few are quickly looked for."""
    return min(len(literal.strip()) for literal in literals), -len(literals)
