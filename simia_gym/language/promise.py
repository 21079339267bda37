"""Finds promises and charges: what a message says for certain that will be done for the user, and what it costs.

What depends on a condition ("once you confirm, I will cancel it") is a plan and no promise; neither is a step of the
work ("I will look it up") or what the user is sent about it ("you will receive an email").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from simia_gym.language.clause import ADVERBS, clause_before, uncertain
from simia_gym.language.cue import Cue
from simia_gym.language.numbers import amounts_in
from simia_gym.language.text import Sentence, normal
from simia_gym.language.vocabulary import DEEDS, GIFTS, GOODS

_MORE = ("issued", "granted", "waived", "compensated", "redirected")
_SAID_OF_IT = "processed|paid|sent|done|arranged"
"""Participles that are promised of a thing only, as in "it will be sent"."""
_IRREGULAR = {"lent": "lend", "held": "hold", "paid": "pay", "sold": "sell", "withdrawn": "withdraw"}
_WILL = r"(?:'ll|\s+will|\s+shall|'m going to|\s+am going to|\s+are going to|'re going to|'m|'re|\s+am|\s+are)"
_THING = (
    r"seats?|fees?|accounts?(?![^,.;:]* updated)|replacements?|it|that|this|orders?|items?|reservations?|bookings?"
    rf"|flights?|{GOODS}|amount|\#?w\d+"
)
_SUM = r"\$ ?\d+(?:\.\d+)?"
_GIFT = Cue(
    (
        rf"\bhere(?:'s| is| are) (?:an? |your |another )?(?:{_SUM}\b|(?:\w+ )?(?:{GIFTS})s?\b)",
        rf"\b(?:accept|enjoy) (?:[\w$.,-]+ ){{0,4}}?(?:{_SUM}|(?:{GIFTS})s?|free)\b",
        rf"\bexpect (?:an? |your |the )?(?P<good>{GOODS})\b",
        rf"(?:{_SUM}|\d ?(?:%|percent)) off\b|\b(?:threw|throw|throwing|thrown) in\b",
        r"\bnext (?:order|purchase|booking|flight|trip)\b[^,.;:]{0,40}"
        r"\b(?:free|on (?:us|me|the house)|off|half(?: the)? price)\b",
        rf"(?<!\w)(?P<good>{GOODS}|{_SUM})\b[^,.;:]{{0,30}} (?:is|are) (?:now |already )?(?:on (?:its|the) way"
        r"|coming (?:back )?(?:to you|your way))\b",
    )
)
"""What is handed out, whoever does it: "here is $20", "your next order ships free", "a refund is on its way"."""
_CONDITION = re.compile(
    r"\b(?:if(?! (?:it|that) (?:matters|helps|counts|means)\b)|once|when|whenever|until|unless|as soon as|upon"
    r"|provided|assuming|in case|otherwise|(?:after|before) (?:you|your|we|i|it|the|confirm\w*|approv\w*))\b"
)
_OPEN = uncertain("no|nothing|can(?! expect)|cannot|should|only|how|what|which|either|or|policy")
_CHARGE = re.compile(
    r"\b(?:charged|billed|debited|deducted|collected|fees?|charges? of|surcharges?|penalt(?:y|ies)|owe|paid extra)\b"
)
_UNCHARGED = uncertain("no|once|when|until")


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
        return re.match(rf"{GIFTS}|gift", self.good) is not None

    @property
    def amounts(self) -> tuple[Decimal, ...]:
        """The amounts of money in the sentence."""
        return tuple(amounts_in(self.sentence.plain))


@lru_cache(maxsize=64)
def _pattern(more: tuple[str, ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    """The pattern of a promise, and the participles of the verbs in it."""
    deeds = tuple(dict.fromkeys((*DEEDS, *_MORE, *map(normal, more))))
    verbs = {verb: deed for deed in reversed(deeds) for verb in _verbs(deed)}
    pattern = (
        rf"\b(?:i|we){_WILL}? {ADVERBS}(?P<verb>{'|'.join(map(re.escape, verbs))})\b"
        r"(?! (?:to you|on|forward|(?:this|a|my) notes?)\b)"
        rf"|\b(?:i|we){_WILL} {ADVERBS}(?:(?:do|arrange?|fix|process)(?:ing)? (?:it|that|this|so)\b"
        r"|get (?:it|this|that) done|take care of (?:it|that|this)|make (?:you )?(?:an|this|the) exception"
        r"|see to (?:it|that)|go ahead (?:and|with)|put (?:it|that|this) through"
        rf"|(?:give|send) you (?:[\w$.-]+ ){{0,4}}?{GOODS})"
        r"|\byou(?:r (?:bank|card|account|statement|balance))?(?:'ll| will| shall| can(?= expect)|'re going to"
        rf"| are going to)? {ADVERBS}(?:get|receive|see|show|expect|be given|be sent|(?<=ll |ow )have"
        r"|have (?:got|received))(?: back)? "
        rf"(?:[\w$.,-]+ ){{0,5}}?(?P<good>{GOODS}|{_SUM} back)\b"
        rf"|\b(?:{_THING})\b[^,.;:]{{0,40}} (?:will|shall|is going to) {ADVERBS}(?:be|have been) {ADVERBS}"
        rf"(?P<done>{'|'.join(map(re.escape, deeds))}|{_SAID_OF_IT})\b"
    )
    return re.compile(pattern), verbs


def _verbs(deed: str) -> tuple[str, ...]:
    """The verbs whose participle a word may be, and others that are no words: "cancel" and "cancell" of "cancelled"."""
    if not deed.endswith("ed"):
        return (_IRREGULAR[deed],) if deed in _IRREGULAR else ()
    if deed.endswith("ied"):
        return f"{deed[:-3]}y", f"{deed[:-3]}ying"
    return deed[:-1], deed[:-2], deed[:-3], f"{deed[:-2]}ing"


def promises_in(sentence: Sentence, more: tuple[str, ...] = ()) -> Iterator[Promise]:
    """Find the promises in one sentence, by the participles in `DEEDS` and ``more``, and what it hands out."""
    plain = sentence.plain
    if sentence.question or _CONDITION.search(plain):
        return
    pattern, verbs = _pattern(more)
    for found in (*pattern.finditer(plain), *_GIFT.matches(plain)):
        if not _OPEN.search(clause_before(plain, found.start(), found.end())):
            named = found.groupdict("")
            deed = named.get("done") or verbs.get(named.get("verb", ""), "")
            good = named.get("good") or ("" if found.re is pattern else "gift")
            yield Promise(sentence, deed, good)


def charges_in(sentence: Sentence) -> Iterator[Decimal]:
    """Find the amounts in one sentence that states a charge."""
    plain = sentence.plain
    if not sentence.question and _CHARGE.search(plain) and not _UNCHARGED.search(plain):
        yield from amounts_in(plain)
