"""What stands around a phrase in a sentence: the words of its clause, and whether they leave open if it holds."""

from __future__ import annotations

import re

NEAR = 240
"""Characters around a phrase that are read, so that the cost stays linear in the length of a text."""
ADVERBS = (
    r"(?:\w+ly |now |just |also |already |still |then |indeed |after all |in fact |hereby |herewith |anyway "
    r"|all the same |nevertheless )*"
)
"""Words that may stand inside a verb, such as "now" in "I have now cancelled it"."""
_ASIDE = re.compile(r"\([^()]*\)")
_END = re.compile(r"[,;:()]|\s-\s|\b(?:but|and|so|because|since)\b")


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
