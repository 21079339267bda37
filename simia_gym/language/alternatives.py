"""Finds where a message puts several values in the same place, so that it leaves open which of them holds.

One place are the sides of an "or", what stands behind words that lead to a choice ("a refund to A, a refund to B"),
behind the same deed ("I will return A. I will return B.") or label ("Card: A", "Card: B"), the items of a list, and
where sentences differ that are otherwise the same. What is denied, past or depends on something is in no place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest

from simia_gym.language.clause import NEAR, denies
from simia_gym.language.cue import Cue
from simia_gym.language.text import Sentence
from simia_gym.language.vocabulary import VERBS

_OR = re.compile(r"\bor\b")
_CLAUSE = re.compile(r";|\b(?:but|or|then)\b")
_VERB = rf"(?:{VERBS}|move|request)\b"
_LED = re.compile(
    rf"(?<![\w-])(?<!\bme )(?<!\bus )"
    rf"(?:(to(?! {_VERB})|into|onto|for|with|via|by|on|(?<!ending )in|using|use|uses|take|be)(?![\w-])"
    rf"|(?:(?:i|we)(?:'ll| will| can| am going to|'m going to) (?:now |also |then )?|to (?={_VERB}))(\w+)"
    r"|(?:from|instead of|rather than|in place of)\b)|(->|→)"
)
_PAST = Cue((r"\b(?:was|were|been|you (?:paid|used))\b",))
_CONDITION = Cue((r"\b(?:if|unless|in case) (?!you\b|this\b|that\b|it\b)",))
_LABEL = re.compile(r"[^a-z\d:]+|(?<=option )\d+|(?<=choice )\d+|(?<=alternative )\d+")
_NOW = re.compile(r"^(?:\w+ ){0,2}(?:current|old|previous|existing)\b[^:]*:")
"""A label or heading of what is there before the change."""
_DOING = re.compile(r"\b(?:do|done|doing|happens?|changes?|steps?|plan|actions?|summary|proposal)\b[^:]*:")
"""A heading of deeds, each of which begins with its verb."""
_CHARGED = re.compile(r"\b(?:charged?|charging)\b")
_SETTLED = re.compile(r"\byou(?:'ve| have)? (?:chose|chosen|picked|selected|asked for)\b")
"""A sentence that says this after it has named a choice says how the choice was made."""


def alternatives(sentences: Sequence[Sentence]) -> Iterator[tuple[str, ...]]:
    """The texts in each place in which several stand."""
    found: dict[str, list[str]] = {}
    whole: dict[str, list[list[str]]] = {}
    for sentence in sentences:
        text = sentence.plain
        if " or " in text:
            text = text[max((found.start() for found in _SETTLED.finditer(text)), default=0) :]
        if " or " in text:
            yield tuple(_OR.split(text))
        if not _CONDITION.occurs(text) and _NOW.match(sentence.head) is None:
            for place, part in _placed(text, sentence.head):
                found.setdefault(place, []).append(part)
            if not denies(text):
                words = text.split()
                whole.setdefault(" ".join(words[:2]), []).append(words)
    yield from (tuple(texts) for texts in found.values() if len(texts) > 1)
    for alike in whole.values():
        yield from (sides for one, other in pairwise(alike) if (sides := _differing(one, other)))


def _placed(text: str, head: str) -> Iterator[tuple[str, str]]:
    """What stands in which place of a sentence; what no comma parts is one thing, as in "to A and to B"."""
    clauses = _CLAUSE.split(text)
    for clause in clauses:
        if _PAST.occurs(clause) or _NOW.match(clause):
            continue
        charge = "charge " if _CHARGED.search(clause) else ""
        label, colon, words = clause.partition(":")
        if colon:
            yield _LABEL.sub(" ", label).strip() + ":", words
        elif head and len(clauses) == 1:
            yield charge + head + ("".join(clause.split()[:1]) if _DOING.search(head) else ""), clause
        together: dict[tuple[str, int], str] = {}
        at, commas = 0, 0
        leads = [*_LED.finditer(clause)]
        for found, then in zip_longest(leads, leads[1:]):
            start = found.start()
            commas, at = commas + clause.count(",", at, start), start
            place = "to" if found[1] or found[3] else found[2]
            if place and not denies(clause[max(0, start - NEAR) : start]):
                words = clause[found.end() : then and then.start()]
                together[place, commas] = f"{together.get((place, commas), '')} {words}"
        yield from ((charge + place, words) for (place, _), words in together.items())


def _differing(one: list[str], other: list[str]) -> tuple[str, ...]:
    """Where two sentences differ; nothing if less than half of their words are the same."""
    most = min(len(one), len(other))
    start = next((at for at in range(most) if one[at] != other[at]), most)
    end = next((at for at in range(most - start) if one[-1 - at] != other[-1 - at]), most - start)
    sides = one[start : len(one) - end], other[start : len(other) - end]
    return tuple(" ".join(side) for side in sides) if all(sides) and 2 * (start + end) >= most else ()
