"""Finds promises, and amounts that are charged: what a message says for certain about the user's things and money.

A promise says what will be done for the user, or what he will get.

What depends on a condition ("once you confirm, I will cancel it") is a plan and no promise; neither is a step of the
work ("I will look it up") or what the user is sent about it ("you will receive an email").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from simia_gym.language.text import Sentence

_PARTICIPLES = {
    "cancel": "cancelled", "refund": "refunded", "return": "returned", "exchange": "exchanged", "swap": "swapped",
    "replace": "replaced", "change": "changed", "modify": "modified", "update": "updated", "switch": "switched",
    "upgrade": "upgraded", "downgrade": "downgraded", "add": "added", "remove": "removed", "apply": "applied",
    "book": "booked", "credit": "credited", "issue": "issued", "grant": "granted", "waive": "waived",
    "compensate": "compensated", "redirect": "redirected",
}  # fmt: skip
_NEAR = 240
_BE_DONE = (
    "|".join(_PARTICIPLES.values()) + "|lent|held|reserved|renewed|extended|canceled|processed|paid|sent|done|arranged"
)
_SOON = r"(?:\w+ly |now |just |also |still |then |gladly |anyway |all the same |nevertheless )*"
_WILL = r"(?:'ll|\s+will|\s+shall|'m going to|\s+am going to|\s+are going to|'re going to)"
_GOOD = (
    r"(?:refund|voucher|certificate|discount|compensation|coupon|money|gift(?! card)|bonus|rebate|credit(?! card))s?"
)
_GIFT = re.compile(r"voucher|certificate|discount|compensation|coupon|gift|bonus|rebate")
_THING = (
    rf"seats?|fees?|accounts?|replacements?|it|that|this|orders?|items?|reservations?|bookings?|flights?"
    rf"|{_GOOD}|amount|\#?w\d+"
)
_PROMISE = re.compile(
    rf"\b(?:i|we){_WILL} {_SOON}(?P<verb>{'|'.join(_PARTICIPLES)})\b(?! (?:to you\b|that|this note|a note|my notes))"
    rf"|\b(?:i|we){_WILL} {_SOON}(?:(?:do|arrange|fix) (?:it|that|this|so)\b|get (?:it|this|that) done"
    r"|take care of (?:it|that|this)|make (?:you )?(?:an|this|the) exception|see to (?:it|that)|go ahead (?:and|with)"
    rf"|put (?:it|that|this) through|(?:give|send) you (?:[\w$.-]+ ){{0,4}}?{_GOOD})"
    r"|\byou(?:'ll| will| shall|'re going to| are going to)? (?:\w+ly |now |also |then |still )*"
    rf"(?:get|receive|be given|be sent|have)(?: back)? (?:[\w$.,-]+ ){{0,5}}?(?P<good>{_GOOD})\b"
    rf"|\b(?:{_THING})\b[^,.;:]{{0,40}} (?:will|shall|is going to) {_SOON}be {_SOON}(?P<done>{_BE_DONE})\b"
)
_HINT = re.compile(r"will|'ll|shall|going to|\byou (?:also |now )?(?:get|receive)")
_CONDITION = re.compile(
    r"\b(?:if|once|when|whenever|until|unless|as soon as|upon|provided|assuming|in case|otherwise"
    r"|(?:after|before) (?:you|your|we|i|it|the|confirm\w*|approv\w*))\b"
)
_OPEN = re.compile(
    r"\b(?:would|could|should|may|might|can|not|never|no|cannot|only|whether|how|what|which|either|or|policy)\b|n't\b"
)
_CHARGE = re.compile(r"\b(?:charged|billed|debited|deducted|collected|fees?|surcharges?|penalt(?:y|ies)|paid extra)\b")
_AMOUNT = re.compile(r"\$ ?(\d+(?:\.\d+)?)|\b(\d+(?:\.\d+)?)(?= (?:us )?dollars?\b)")
_UNCHARGED = re.compile(r"\b(?:if|no|not|never|without|once|when|whether|would|could|unless|until|may|might)\b|n't\b")
_CLAUSE = re.compile(r"[,;:]|\b(?:and|but|so)\b")


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise in a sentence.

    Attributes:
        sentence: The sentence.
        deed: The participle of the promised deed; ``""`` for a promise of no certain deed, such as "I will do it".
        good: What the user is to get, such as ``voucher``; ``""`` if it is a deed.
    """

    sentence: Sentence
    deed: str
    good: str

    @property
    def gift(self) -> bool:
        """Whether the good is one that only an agent hands out, other than money that comes back anyway."""
        return _GIFT.match(self.good) is not None

    @property
    def amounts(self) -> tuple[Decimal, ...]:
        """The amounts of money in the sentence."""
        return tuple(amounts_in(self.sentence))


def promises_in(sentence: Sentence) -> Iterator[Promise]:
    """Find the promises in one sentence."""
    plain = sentence.plain
    if sentence.question or not _HINT.search(plain) or _CONDITION.search(plain):
        return
    for found in _PROMISE.finditer(plain):
        if _OPEN.search(_CLAUSE.split(plain[max(0, found.start() - _NEAR) : found.end()])[-1]):
            continue
        done = found["done"] or _PARTICIPLES.get(found["verb"] or "", "")
        yield Promise(sentence, done, found["good"] or "")


def charges_in(sentence: Sentence) -> Iterator[Decimal]:
    """Find the amounts in one sentence that states a charge."""
    plain = sentence.plain
    if not sentence.question and _CHARGE.search(plain) and not _UNCHARGED.search(plain):
        yield from amounts_in(sentence)


def amounts_in(sentence: Sentence) -> Iterator[Decimal]:
    """Find the amounts of money in one sentence."""
    for dollars, words in _AMOUNT.findall(sentence.plain):
        yield Decimal(dollars or words)
