"""Cues: sets of regular expressions, each searched only in texts that have a word that its matches need."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from simia_gym.common.text_cache import cached_by_text
from simia_gym.errors import InputError

_WORDS = re.compile(r"\w+")
_ESCAPE_OR_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")
_EDGE = re.compile(r"\\(?:b|\W)|(?<!\[)\^")
"""The edge of a word, a mark of punctuation, or the start of a text."""
_OPTIONAL = re.compile(r"[^()](?:[?*]|\{[^}]*\})")
_GROUP = re.compile(r"\((?:\?:|\?P<\w+>|(?!\?))([^()]*)\)(?![?*{])|\([^()]*\)(?:[?*]|\{[^}]*\})?")
"""A group without groups in it, with its content; one that is optional or looks around has none."""
_LOOK = re.compile(r"\(\?<?[=!][^()]*\)(?![?*+{])")
"""A group without groups in it that only looks around."""
_SKIPPED = re.compile(r"(?<=[ \1])\((?:\?:)?(?:[^()|]* \x01*\|)*[^()|]* \x01*\)(?:[?*]|\{0[^}]*\})")
"""An optional group of words that each end in a space, behind a space: what is behind it begins a word."""
_OPENING = re.compile(r"\((?:\?:|\?P<\w+>|(?!\?))(?:[^()]*\|)?$")
"""The opening of a group, up to one of its alternatives."""
_COMMON = frozenset((
    "a", "all", "an", "and", "any", "are", "as", "at", "be", "can", "could", "do", "does", "for", "have", "i", "in",
    "is", "it", "may", "me", "my", "no", "not", "of", "on", "or", "our", "s", "so", "t", "that", "the", "these",
    "they", "this", "to", "us", "was", "we", "what", "will", "with", "would", "you", "your",
))  # fmt: skip
"""Words that stand in so many texts that they exclude few."""
_NO_LITERAL = re.compile(r"[^\w '#/-]+")
_WHOLE = re.compile(r"(?<=[ '#/,:;!\"\1-])\w+(?=[ '#/,:;!\"\1-])")
"""A word of a pattern that is a whole word in each match: between spaces, punctuation and edges of words."""


class Cue:
    """A set of regular expressions over lower-case text; matches if any of them does.

    Args:
        patterns: The regular expressions.
        where: File and key of the patterns, for error messages.

    Raises:
        InputError: A pattern is not a valid regular expression.
    """

    __slots__ = ("_by_word", "_others")

    def __init__(self, patterns: Iterable[str], where: str = "cues") -> None:
        self._by_word: dict[str, dict[re.Pattern[str], None]] = {}
        self._others: list[tuple[str, re.Pattern[str]]] = []
        for pattern in patterns:
            try:
                re.compile(pattern)
                for branch in alternatives(pattern):
                    compiled = re.compile(branch)
                    words, literal = needed(branch)
                    for word in words:
                        self._by_word.setdefault(word, {})[compiled] = None
                    self._others += [] if words else [(literal, compiled)]
            except (re.error, TypeError) as error:
                fix = "Correct the pattern."
                raise InputError(f"{pattern!r} is not a regular expression: {error}", where=where, fix=fix) from error

    def _possible(self, text: str) -> Collection[re.Pattern[str]]:
        """The patterns that may match."""
        found = {pattern: None for literal, pattern in self._others if literal in text}
        by_word = self._by_word
        for word in by_word.keys() & _words(text):
            found.update(by_word[word])
        return found

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """All matches, of one pattern after another; some come twice."""
        return (found for pattern in self._possible(text) for found in pattern.finditer(text))

    def find(self, text: str) -> int | None:
        """The position of the first match; ``None`` without a match."""
        found = [hit.start() for pattern in self._possible(text) if (hit := pattern.search(text))]
        return min(found) if found else None

    def occurs(self, text: str) -> bool:
        """Whether any of the patterns matches."""
        possible = self._possible(text)
        return bool(possible) and any(pattern.search(text) for pattern in possible)


@cached_by_text
def _words(text: str) -> frozenset[str]:
    """The words of a text; several cues are looked for in each sentence of a message."""
    return frozenset(_WORDS.findall(text))


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


def needed(branch: str) -> tuple[list[str], str]:
    """Words of which every match of a branch contains one, empty if none are known; and a literal that it contains.

    To see behind optional words and into groups of groups makes the reading of a message 9% cheaper.
    """
    rest = _OPTIONAL.sub("\0", _ESCAPE_OR_CLASS.sub("\0", _EDGE.sub("\1", branch)))
    inside: dict[str, list[str]] = {}
    while "(" in rest:
        rest = _SKIPPED.sub("\1", _LOOK.sub("", rest))
        group = _GROUP.search(rest)
        if group is None:
            break
        mark = chr(0xE000 + len(inside))  # a character for private use stands for the group
        before, after = rest[: group.start()], rest[group.end() :]
        left, right = _beside(before, after)
        parts = [_rarest(f"{left}{part}{right}", inside) for part in (group[1] or "").split("|")]
        inside[mark] = [word for words in parts for word in words] if all(parts) else []
        rest = f"{before}{mark}{after}"
    literals = _NO_LITERAL.split(rest)
    return _rarest(rest, inside), max(literals, key=lambda literal: len(literal.strip()))


def _beside(before: str, after: str) -> tuple[str, str]:
    """The characters beside a group in a pattern; if other groups begin or end with it, those beside them."""
    while (opening := _OPENING.search(before)) is not None:
        before = before[: opening.start()]
    while after[:1] in ("|", ")"):
        depth = 1
        for at, char in enumerate(after):
            depth += (char == "(") - (char == ")")
            if depth == 0:
                after = after[at + 1 :]
                break
    return before[-1:], after[:1]


def _rarest(part: str, inside: dict[str, list[str]]) -> list[str]:
    """Words, few and rare ones, of which every match of a part without parentheses contains one."""
    found = [[word] for word in _WHOLE.findall(part)] + [inside[mark] for mark in part if inside.get(mark)]
    return max(found, key=lambda words: (-len(_COMMON.intersection(words)), -len(words)), default=[])
