"""Finds which values of a kind a message asserts: one in "the total is $5", none in "it can be $5"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from simia_gym.language.clause import NEAR, OTHERS, denies
from simia_gym.language.numbers import NUMBER_WORDS
from simia_gym.language.text import Sentence

_CLAUSE = re.compile(r"; |,? (?:but|while|whereas|although|because)\b|, (?:and|so|of which|of those|which|yet)\b")
_DENIED_BEFORE = re.compile(
    r"\b(?:can(?! (?:see|confirm|tell)\b)|could|may(?! \d)|might|will|would|should|if|whether|once|when|whenever"
    r"|until|unless|not|never|neither|nor|cannot|without|instead of|rather than|than|over|under|above|below|\w+n't)"
    r"(?:[^\w.]+[\w']+){0,4}[^\w.]*$"
)
_HEDGE = r"maybe|perhaps|possibly|probably|presumably|roughly|approximately|i (?:think|guess|believe|suppose|assume)"
_UNSURE_BEFORE = re.compile(
    rf"\b(?:{_HEDGE}|might be|may be|could (?:also |equally |(?:just )?as well )?be|guess\w*|unsure"
    r"|not (?:quite |entirely )?(?:sure|certain)|either|one of)\b"
    r"|\b(?:about|around|nearly|almost|at least|at most|up to|close to|as (?:many|much) as) $|[~≈±] ?$"
)
_UNLESS = re.compile(r"\b(?:unless|if not)(?: (?:it|that|this|the \w+)(?:'s| is| was| were))? $")
_DENIED_AFTER = re.compile(r" (?:was|is|were|are|has|have|had|does|do|did)(?:n't| not| never)\b")
_UNSURE_AFTER = re.compile(rf"[\s,]*\bor (?:{_HEDGE}|something|some other|another|so\b|more|less|thereabouts)|-?ish\b")
_UNSURE_AT_END = re.compile(
    rf"\bgive or take\b|\b(?:{_HEDGE}|more or less|or so|or thereabouts|if i (?:remember|recall)(?: \w+)?)\W*$"
)
_AT_END = 50
"""Characters at the end of a sentence in which a hedge is looked for."""
_SHOWN = re.compile(r'\b\w+(?=":|: )|\d(?:\S*\w)?')
"""A label, or a word with a digit, without the punctuation behind it."""
_MOST_SHOWN = 7
"""So many different ones may stand in an answer; with more of them it shows rows."""
_DISOWNED = re.compile(
    r"\b(?:(?<!no )guess(?:ing|work)?|ma(?:king|de) (?:it|this|that) up"
    r"|(?:it|that|this)(?:'s| is| was) (?:a lie|untrue|false)|the opposite is|no idea|grain of salt)\b"
    r"|(?:\bnot|n't|\bnever) (?:rely|trust|count|depend)\b"
)
"""What makes all values of a message doubtful, unless these words are denied."""
_BARE = frozenset((
    "actually", "again", "also", "and", "are", "as", "be", "been", "but", "can", "correction", "could", "either",
    "else", "equally", "even", "i", "if", "is", "it", "just", "make", "may", "maybe", "mean", "might", "more", "no",
    "not", "once", "oops", "or", "perhaps", "possibly", "rather", "scratch", "so", "sorry", "that", "there", "they",
    "this", "unless", "wait", "was", "well", "were",
))  # fmt: skip
"""The words of a clause that says nothing of the values in it: "or", "it could also be", "correction:"."""
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w%]|[.:/-]\d)")
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

    Negated, conditional and merely possible values are not asserted, nor are those of other people. If a clause or its
    heading says what the values are (``about``), only the values of such clauses count, and of clauses that say nothing
    of their values ("or $5", "correction: 5").

    Args:
        sentences: The sentences.
        kind: What a value looks like.
        about: What names the values, such as the word "total".
    """
    clauses = [
        (one, *span)
        for one in sentences
        if not (one.question or OTHERS.search(one.head[-NEAR:]))
        for span in _clauses(one.plain)
    ]
    placed = [_places(sentence.plain[start:end], kind) for sentence, start, end in clauses]
    if not any(placed):
        return Asserted((), named=False, certain=True)
    found: dict[str, dict[str, str]] = {"named": {}, "other": {}, "bare": {}, "number": {}}
    unsure = dict.fromkeys(found, _shows_rows(sentences) or any(_disowns(one) for one in sentences))
    for (sentence, start, end), places in zip(clauses, placed, strict=True):
        text, clause = sentence.plain, sentence.plain[start:end]
        named = about is not None and (about.search(clause) or about.search(sentence.head)) is not None
        bare = not (named or sentence.head) and _bare(clause, kind, places)
        place = "named" if named else "other" if not bare else "bare" if places else "number"
        for first, last in places or ([match.span() for match in _NUMBER.finditer(clause)] if bare else ()):
            before, at = text[max(0, start + first - NEAR) : start + first], start + last
            if OTHERS.search(before):
                continue
            rival = _UNLESS.search(before) is not None
            later = _UNSURE_AFTER.match(text, at) or _UNSURE_AT_END.search(text, max(at, len(text) - _AT_END))
            doubt = rival or _UNSURE_BEFORE.search(before) is not None or later is not None
            denied = _DENIED_BEFORE.search(before, max(0, len(before) - first)) or _DENIED_AFTER.match(text, at)
            if doubt or not denied:
                where = "bare" if rival else place
                found[where].setdefault(_value(clause[first:last]), clause[first:last])
                unsure[where] |= doubt
    named, counted = bool(found["named"]), "named" if found["named"] else "other"
    values = found[counted] | found["bare"]
    if any(value[-1:].isdigit() or value in NUMBER_WORDS for value in values):
        values |= found["number"]
    return Asserted(tuple(values.values()), named, not (unsure[counted] or unsure["bare"]))


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    """Where the clauses of a sentence begin and end."""
    return pairwise([0, *(match.start() for match in _CLAUSE.finditer(text)), len(text)])


def _shows_rows(sentences: Sequence[Sentence]) -> bool:
    """Whether a message shows so much that it is left to the reader to find the answer in it."""
    return len({shown for sentence in sentences for shown in _SHOWN.findall(sentence.plain)}) > _MOST_SHOWN


def _disowns(sentence: Sentence) -> bool:
    """Whether a sentence says that the values in its message are made up, or false."""
    found = None if sentence.question else _DISOWNED.search(sentence.plain)
    return found is not None and not denies(sentence.plain[: found.start()])


def _places(clause: str, kind: re.Pattern[str]) -> Sequence[tuple[int, int]]:
    """Where values stand in a clause; if there are none, "in stock: 6" is read as "6 in stock:"."""
    found = [match.span() for match in kind.finditer(clause)]
    label, _, word = ("", "", "") if found else clause.rstrip(" .!|)").rpartition(" ")
    match = kind.match(f"{word} {label}") if label else None
    return [(len(label) + 1, len(label) + 1 + len(word))] if match and match[0] == word else found


def _bare(clause: str, kind: re.Pattern[str], places: Sequence[tuple[int, int]]) -> bool:
    """Whether a clause says nothing of the values in it, or of its numbers, if there are no such values."""
    return _BARE.issuperset(_WORD.findall((kind if places else _NUMBER).sub(" ", clause)))


def _value(text: str) -> str:
    """What two ways of writing a value have in common."""
    plain = text.strip("#$ ")
    plain = _NAMES.get(plain, plain)
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
