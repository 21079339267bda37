"""Finds which values of a kind a message asserts: one in "the total is $5", none in "it can be $5"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from simia_gym.language.clause import NEAR
from simia_gym.language.numbers import NUMBER_WORDS
from simia_gym.language.text import Sentence

_CLAUSE = re.compile(r"; |,? (?:but|while|whereas|although|because)\b|, (?:and|so|of which|of those|which|yet)\b")
_DENIED_BEFORE = re.compile(
    r"\b(?:can(?! (?:see|confirm|tell)\b)|could|may(?! \d)|might|will|would|should|if|whether|once|when|whenever"
    r"|until|unless|not|never|neither|nor|cannot|without|instead of|rather than|than|over|under|above|below|\w+n't)"
    r"(?:[^\w.]+[\w']+){0,4}[^\w.]*$"
)
_UNSURE_BEFORE = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|presumably|might be|may be|could be|guess\w*|unsure"
    r"|not (?:quite |entirely )?(?:sure|certain)|either|one of|roughly|approximately"
    r"|i (?:think|believe|suppose|assume))\b|\b(?:about|around|nearly|almost|at least|at most) $"
)
_UNLESS = re.compile(r"\b(?:unless|if not)(?: (?:it|that|this|the \w+)(?:'s| is| was| were))? $")
_DENIED_AFTER = re.compile(r" (?:was|is|were|are|has|have|had|does|do|did)(?:n't| not| never)\b")
_UNSURE_AFTER = re.compile(
    r"[\s,]*\bor (?:maybe|perhaps|possibly|something|some other|another|so\b|more|less|thereabouts)"
)
_NAMES = {name: str(number) for number, name in enumerate(NUMBER_WORDS)}


class Asserted(NamedTuple):
    """The values that a message asserts.

    Attributes:
        values: The values, each once, as they are written.
        named: Whether the values stand where the message says what they are.
        certain: Whether the message leaves nothing open.
    """

    values: tuple[str, ...]
    named: bool
    certain: bool

    @property
    def one(self) -> str | None:
        """The value, if exactly one is asserted for certain."""
        return self.values[0] if len(self.values) == 1 and self.certain else None


def asserted(sentences: Sequence[Sentence], kind: re.Pattern[str], about: re.Pattern[str] | None) -> Asserted:
    """Find the values of a kind that some sentences assert.

    Negated, conditional and merely possible values are not asserted. If a clause or its heading says what the values
    are (``about``), only the values of such clauses count.

    Args:
        sentences: The sentences.
        kind: What a value looks like.
        about: What names the values, such as the word "total".
    """
    found: dict[bool, dict[str, str]] = {True: {}, False: {}}
    unsure = dict.fromkeys(found, False)
    for sentence in sentences:
        text, start = sentence.plain, 0
        if sentence.question:
            continue
        for end in (*(match.start() for match in _CLAUSE.finditer(text)), len(text)):
            clause = text[start:end]
            named = about is not None and (about.search(clause) or about.search(sentence.head)) is not None
            for first, last in _places(clause, kind):
                before, at = text[max(0, start + first - NEAR) : start + first], start + last
                rival = _UNLESS.search(before) is not None
                doubt = rival or _UNSURE_BEFORE.search(before) is not None or _UNSURE_AFTER.match(text, at) is not None
                denied = _DENIED_BEFORE.search(before, max(0, len(before) - first)) or _DENIED_AFTER.match(text, at)
                if doubt or not denied:
                    found[named or rival].setdefault(_value(clause[first:last]), clause[first:last])
                    unsure[named or rival] |= doubt
            start = end
    named = bool(found[True])
    return Asserted(tuple(found[named].values()), named, not unsure[named])


def _places(clause: str, kind: re.Pattern[str]) -> Sequence[tuple[int, int]]:
    """Where values stand in a clause; if there are none, "in stock: 6" is read as "6 in stock:"."""
    found = [match.span() for match in kind.finditer(clause)]
    label, _, word = ("", "", "") if found else clause.rstrip(" .!|)").rpartition(" ")
    match = kind.match(f"{word} {label}") if label else None
    return [(len(label) + 1, len(label) + 1 + len(word))] if match and match[0] == word else found


def _value(text: str) -> str:
    """What two ways of writing a value have in common."""
    plain = text.strip("#$ ")
    plain = _NAMES.get(plain, plain)
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
