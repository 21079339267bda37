"""Which way a sentence says that something goes: an amount to the customer or from it, a choice with or without."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from decimal import Decimal

from simia_gym.language.numbers import amounts_in

_CLAUSE = re.compile(r"[;,()]|\b(?:and|but|while|whereas)\b")
_BACK = re.compile(
    r"\brefund\w*|\breimburs\w*|\bcredited\b|\bcredit (?:of|to|you)\b|\breturned to\b|\breceive\b"
    r"|\b(?:pay |paid |pays |paying )?back\b"
)
_PAID = re.compile(
    r"(?<!\bno )(?<!\bnot )(?<!n't )(?<!\bwas )(?<!\bwere )(?<!\bbeen )(?<!\boriginally )"
    r"\b(?:charged?|charges|pays?|paying|owes?|debit(?:ed)?|billed?|deduct(?:ed)?)\b"
)
_NONE = re.compile(
    r"\b(?:without|no|not|non|none|never|exclud\w+|declin\w+|opt(?:ed|ing)? out|skip\w*|uninsured|leave out|left out"
    r"|waiv\w+|refus\w+)\b|n't\b"
)
_EITHER = re.compile(r"\bor\b|\bwhether\b|\bif\b")


def returned(plain: str, amounts: Set[Decimal] | None) -> Iterator[bool]:
    """Whether a normalised sentence says that amounts go back to the customer, or that it pays; for those it says.

    Args:
        plain: The sentence.
        amounts: The amounts that are looked at; all of them if not given.
    """
    for clause in _CLAUSE.split(plain):
        stated = set(amounts_in(clause))
        if stated and (amounts is None or not stated.isdisjoint(amounts)):
            ways = _ways(clause) or _ways(plain)
            if len(ways) == 1:
                yield from ways


def chosen(plain: str, name: str) -> Iterator[bool]:
    """Whether a normalised sentence says that something is had, by its name; nothing where it leaves that open."""
    if name not in plain or _EITHER.search(plain):
        return
    for clause in _CLAUSE.split(plain):
        if name in clause:
            yield _NONE.search(clause) is None


def _ways(text: str) -> set[bool]:
    rest = _BACK.sub(" ", text)
    return {way for way, said in ((True, rest != text), (False, _PAID.search(rest) is not None)) if said}
