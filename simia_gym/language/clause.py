"""What stands around a phrase in a sentence: the words of its clause, and whether they leave open if it holds."""

from __future__ import annotations

import re

NEAR = 240
"""Characters around a phrase that are read, so that the cost stays linear in the length of a text."""
ADVERBS = r"(?:\w+ly |now |just |also |already |still |then |indeed |hereby |anyway |nevertheless )*"
"""Words that may stand inside a verb, such as "now" in "I have now cancelled it"."""
OTHERS = re.compile(
    r"\b(?:another|different|other) (?:customer|person|people|account|user|guest|member|client|passenger)"
    r"|\b(?:some|any)(?:one|body) else\b"
)
"""Others than the customer."""
_ASIDE = re.compile(r"\([^()]*\)")
_END = re.compile(r"[,;:()]|\s-\s|\b(?:but|and|so|because|since)\b")
_NOT = re.compile(r"(?:\bnot|n't|\bcannot|\bnever)\b")
_TURNED = re.compile(r"(?:will|shall|would|do|can|could|am|are|have|may|that) (?:i|we)\b")
_INVERTED = re.compile(
    r"\b(?:(?:at|by|for|in|on|under|with) )?(?:neither|nor|never|not?|hardly|rarely|seldom|nowhere)\b"
    r"(?! only| doubt| sooner)[a-z' ]{0,40}? (will|shall|would|do|can|could|am|are|have|may) (i|we)\b"
    r"|\b(?:(?:it|that|this)(?:(?:'s| is| would be)(?: \w+){0,3}? (?!(?:true|right|correct|clear|certain|sure|important"
    r"|good|fine|agreed|so)\b)\w+|(?:'s not| is not| isn't)(?: \w+){1,4})|(?:i|we) (?:doubt|deny)"
    r"|(?:nobody|no one) \w+) that (i|we)(?:'ll| (will|shall|would|can|am|are|have))\b"
)
"""A sentence turned round by what negates it, and "it is false that I will" with any word that does not affirm."""


def upright(plain: str) -> str:
    """A normalised sentence with plain negations: "never will I do it" becomes "I will not do it"."""
    if not (" i " in plain or " we " in plain or "i'll" in plain or "we'll" in plain):
        return plain
    if plain.endswith("?") or not _TURNED.search(plain):
        return plain
    return _INVERTED.sub(lambda found: f"{found[2] or found[3]} {found[1] or found[4] or 'will'} not", plain)


def denies(text: str) -> bool:
    """Whether a normalised text denies something."""
    return ("n't" in text or "not" in text or "never" in text) and _NOT.search(text) is not None


def uncertain(words: str) -> re.Pattern[str]:
    """The pattern of what denies a thing, makes it depend on something, or only considers it.

    Args:
        words: Alternatives of a regular expression that do so, too, for the thing in question.
    """
    return re.compile(rf"\b(?:not|never|without|if|unless|whether|would|could|may(?! \d)|might|{words})\b|n't\b")


def clause_before(text: str, start: int, end: int | None = None) -> str:
    """The words of a clause before a phrase.

    Args:
        text: A normalised sentence.
        start: Where the phrase starts.
        end: Where the words end; where the phrase starts, if not given.
    """
    return _END.split(_ASIDE.sub("", text[max(0, start - NEAR) : start if end is None else end]))[-1]
