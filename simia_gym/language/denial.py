"""Finds what a message denies: "I will not do it", and "I will do it" beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from simia_gym.language.cue import Cue
from simia_gym.language.text import Sentence

_NOT = re.compile(r"(?:\bnot|n't|\bcannot|\bnever)\b")
_UNDONE = re.compile(
    r"(?:i|we)(?: will not| won't| shall not|(?:'m| am|'re| are) not going to)\b(?!.*(?:;|\b(?:but|i will|i'll)\b))"
)
_DISOWNED = Cue(
    (
        r"(?:\bnot|n't|\bcannot|\bunable to)(?: (?:able|allowed) to)? (?:do|make|process|offer) (?:that|this|it|so)\b",
        r"\b(?:only|just|merely) an? (?:example|illustration)\b|\bhypothetical|\bnothing to do with you",
        r"\bif\b[^.]{1,60}\b(?:were (?:allowed|permitted|possible)|(?:allowed|permitted) (?:it|that|this|me)"
        r"|(?:i|we) could)\b[^.]{0,60}\bi(?: would|'d)\b",
    )
)
PART = re.compile(r";|\bbut\b")
"""What parts a sentence into what is denied and what is not."""
_TURN = re.compile(r"\b(?:instead|alternative\w*|however|but|rather|can|could)\b(?!'t| not)")
_WORD = re.compile(r"[\w#](?:[\w#'.-]*\w)?")
_FORM = re.compile(
    r"(?:an?|the|i|we|you|your|it|this|that|them|will|wo|would|shall|sha|can|ca|cannot|could|may|might|must|do|does|am|is"
    r"|are|be|going|able|to|not|never|also|now|just|but|and|so|or|for|of|however|please|sorry|unfortunately)(?:n't|'ll|'m)?"
)
"""Words that only say whether something is done, and by whom."""
_LEAD, _LONGEST = 4, 60
"""Words that may stand before what is denied, and words of a sentence that are read; the cost stays linear."""


def denies(text: str) -> bool:
    """Whether a normalised text denies something."""
    return ("n't" in text or "not" in text or "never" in text) and _NOT.search(text) is not None


def disowns(text: str) -> bool:
    """Whether a normalised text says that what stands around it will not be done, and turns to nothing else."""
    at = _DISOWNED.find(text)
    return at is not None and not turns(text[at:])


def turns(text: str) -> bool:
    """Whether a normalised text turns to what can be done."""
    return _TURN.search(text) is not None


def undenied(kept: Sequence[Sentence], every: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """Those sentences of a message that stand: neither "I will not do it" nor, beside it, "I will do it"."""
    clauses = [clause for one in every if not one.question for clause in PART.split(one.plain)]
    denied = {_substance(clause) for clause in clauses if denies(clause)} - {()}
    return tuple(one for one in kept if not _UNDONE.match(one.plain) and not _denied(one.plain, denied))


def _denied(text: str, denied: set[tuple[str, ...]]) -> bool:
    """Whether a clause says what is denied, maybe after some words and with more behind it."""
    for clause in PART.split(text) if denied else ():
        words = () if denies(clause) else _substance(clause)
        ends = range(min(len(words), _LONGEST) + 1)
        if any(words[start:end] in denied for start in range(_LEAD) for end in ends):
            return True
    return False


def _substance(text: str) -> tuple[str, ...]:
    """What a clause is about: "I will not cancel it" says "cancel"."""
    return tuple(word for word in _WORD.findall(text) if _FORM.fullmatch(word) is None)
