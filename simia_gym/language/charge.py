"""Finds amounts of money that a message says are charged: fees, and what was debited."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from simia_gym.language.text import Sentence

_CHARGE = re.compile(r"\b(?:charged|billed|debited|deducted|collected|fees?|surcharges?|penalt(?:y|ies)|paid extra)\b")
_AMOUNT = re.compile(r"\$ ?(\d+(?:\.\d+)?)|\b(\d+(?:\.\d+)?)(?= (?:us )?dollars?\b)")
_OPEN = re.compile(r"\b(?:if|no|not|never|without|once|when|whether|would|could|unless|until|may|might)\b|n't\b")


def charges_in(sentence: Sentence) -> Iterator[Decimal]:
    """Find the amounts in one sentence that states a charge."""
    plain = sentence.plain
    if not sentence.question and _CHARGE.search(plain) and not _OPEN.search(plain):
        yield from amounts_in(sentence)


def amounts_in(sentence: Sentence) -> Iterator[Decimal]:
    """Find the amounts of money in one sentence."""
    for dollars, words in _AMOUNT.findall(sentence.plain):
        yield Decimal(dollars or words)
