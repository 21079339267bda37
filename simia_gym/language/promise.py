"""Finds promises, charges and deadlines: what a message says for certain about the user's things, money and time.

A promise says what will be done for the user, or what he will get. A deadline says within which time, or by which day.

What depends on a condition ("once you confirm, I will cancel it") is a plan and no promise; neither is a step of the
work ("I will look it up") or what the user is sent about it ("you will receive an email").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from simia_gym.language.answer import NUMBER_WORDS
from simia_gym.language.claim import all_deeds
from simia_gym.language.text import Sentence

_NEAR = 240
_MORE = ("issued", "granted", "waived", "compensated", "redirected")
_SAID_OF_IT = "processed|paid|sent|done|arranged"
"""Participles that are promised of a thing only, as in "it will be sent"."""
_IRREGULAR = {"lent": "lend", "held": "hold", "paid": "pay", "sold": "sell", "withdrawn": "withdraw"}
_SOON = (
    r"(?:\w+ly |now |just |already |hereby |herewith |also |still |then |gladly |anyway |all the same |nevertheless )*"
)
_WILL = r"(?:'ll|\s+will|\s+shall|'m going to|\s+am going to|\s+are going to|'re going to|'m|'re|\s+am|\s+are)"
_GOOD = (
    r"(?:refund|voucher|certificate|discount|compensation|coupon|money|gift(?! card)|bonus|rebate|credit(?! card))s?"
)
_GIFT = re.compile(r"voucher|certificate|discount|compensation|coupon|gift|bonus|rebate")
_THING = (
    rf"seats?|fees?|accounts?|replacements?|it|that|this|orders?|items?|reservations?|bookings?|flights?"
    rf"|{_GOOD}|amount|\#?w\d+"
)
_HINT = re.compile(r"will|'ll|shall|going to|\b(?:i|we)\b|\byou (?:also |now )?(?:get|receive)")
_CONDITION = re.compile(
    r"\b(?:if(?! (?:it|that) (?:matters|helps|counts|means)\b)|once|when|whenever|until|unless|as soon as|upon"
    r"|provided|assuming|in case|otherwise|(?:after|before) (?:you|your|we|i|it|the|confirm\w*|approv\w*))\b"
)
_OPEN = re.compile(
    r"\b(?:would|could|should|may|might|can|not|never|no|cannot|only|whether|how|what|which|either|or|policy)\b|n't\b"
)
_CHARGE = re.compile(r"\b(?:charged|billed|debited|deducted|collected|fees?|surcharges?|penalt(?:y|ies)|paid extra)\b")
_AMOUNT = re.compile(r"(?:\$|\busd) ?(\d+(?:\.\d+)?)|\b(\d+(?:\.\d+)?)(?= ?(?:(?:us )?dollars?|usd)\b(?!:))")
_UNCHARGED = re.compile(r"\b(?:if|no|not|never|without|once|when|whether|would|could|unless|until|may|might)\b|n't\b")
_CLAUSE = re.compile(r"[,;:]|\b(?:and|but|so)\b")
_MINUTES = {"minute": 1, "hour": 60, "hr": 60, "day": 1440, "week": 10080, "month": 43200}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NUMBERS = {name: float(number) for number, name in enumerate(NUMBER_WORDS)} | {"a": 1.0, "an": 1.0}
_COUNT = rf"\d+(?:\.\d+)?|{'|'.join(_NUMBERS)}"
_SPAN = (
    rf"(?!a minute)(?P<low>{_COUNT})(?: ?(?:-|to|or) ?(?P<high>{_COUNT}))?[ -]"
    rf"(?:(?:more|full|business|working|calendar) )*(?P<unit>{'|'.join(_MINUTES)})s?\b"
)
_DAY = (
    rf"(?:(?P<month>{'|'.join(_MONTHS)})[a-z]* (?P<date>\d\d?)(?:st|nd|rd|th)?\b|\d{{4}}-(?P<iso>\d\d-\d\d)(?!\d)"
    r"|(?P<name>(?:tomorrow|tonight)\b|(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b(?!,? (?:the )?(?:\d|[a-z]+ \d))"
    r"|end of (?:the |this |next )?(?:business )?(?:day|week|month)\b|next (?:week|month)\b))"
)
_TIME = re.compile(rf"\b(?:{_SPAN}|{_DAY})")
_ABOUT = r"(?:(?:about|around|approximately|roughly|the|this|next|another|half|just|only|up to|at most|later than) )*"
_DEADLINE = re.compile(
    rf"\b(?:within|in|takes?|allow|expect|less than|(?:timing|timeline|eta|delivery|arrival|refund):) {_ABOUT}{_SPAN}"
    rf"|\b(?:by|before|until|no|(?:have|get|receive|expect) (?:\w+ ){{1,4}}?on) {_ABOUT}{_DAY}|\btomorrow\b"
)
TIME_WORDS = ("minute", "hour", " hr", "day", "week", "month", "tomorrow", " by ", "later")
"""What a message with a deadline contains one of."""
_NO_DEADLINE = re.compile(
    r"\b(?:if|unless|whether|would|could|may|might|not|never|nor|cannot|without|was|were|had)\b|n't\b"
)


class Time(NamedTuple):
    """A span of time, or a day.

    Attributes:
        said: The words.
        day: The day, such as ``friday`` or ``05-20``; ``""`` for a span.
        low: The shortest that a span may be, in minutes.
        high: The longest.
    """

    said: str
    day: str
    low: float
    high: float

    def covers(self, other: Time) -> bool:
        """Whether another time is the same, or lies in this one."""
        return self.day == other.day and self.low <= other.low and other.high <= self.high


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


@lru_cache(maxsize=64)
def _pattern(more: tuple[str, ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    """The pattern of a promise, and the participles of the verbs in it."""
    deeds = all_deeds((*_MORE, *more))
    verbs = {verb: deed for deed in reversed(deeds) for verb in _verbs(deed)}
    pattern = (
        rf"\b(?:i|we){_WILL}? {_SOON}(?P<verb>{'|'.join(map(re.escape, verbs))})\b"
        r"(?! (?:to you\b|on\b|forward\b|that|this note|a note|my notes))"
        rf"|\b(?:i|we){_WILL} {_SOON}(?:(?:do|arrange?|fix|process)(?:ing)? (?:it|that|this|so)\b"
        r"|get (?:it|this|that) done|take care of (?:it|that|this)|make (?:you )?(?:an|this|the) exception"
        r"|see to (?:it|that)|go ahead (?:and|with)|put (?:it|that|this) through"
        rf"|(?:give|send) you (?:[\w$.-]+ ){{0,4}}?{_GOOD})"
        r"|\byou(?:'ll| will| shall|'re going to| are going to)? (?:\w+ly |now |also |then |still )*"
        rf"(?:get|receive|be given|be sent|have)(?: back)? (?:[\w$.,-]+ ){{0,5}}?(?P<good>{_GOOD})\b"
        rf"|\b(?:{_THING})\b[^,.;:]{{0,40}} (?:will|shall|is going to) {_SOON}be {_SOON}"
        rf"(?P<done>{'|'.join(map(re.escape, deeds))}|{_SAID_OF_IT})\b"
    )
    return re.compile(pattern), verbs


def _verbs(deed: str) -> tuple[str, ...]:
    """The verbs whose participle a word may be, and others that are no words: "cancel" and "cancell" of "cancelled"."""
    if deed in _IRREGULAR or not deed.endswith("ed"):
        return (_IRREGULAR[deed],) if deed in _IRREGULAR else ()
    if deed.endswith("ied"):
        return f"{deed[:-3]}y", f"{deed[:-3]}ying"
    return deed[:-1], deed[:-2], deed[:-3], f"{deed[:-2]}ing"


def promises_in(sentence: Sentence, more: tuple[str, ...] = ()) -> Iterator[Promise]:
    """Find the promises in one sentence, by the participles in `DEEDS` and ``more``."""
    plain = sentence.plain
    if sentence.question or not _HINT.search(plain) or _CONDITION.search(plain):
        return
    pattern, verbs = _pattern(more)
    for found in pattern.finditer(plain):
        if _OPEN.search(_CLAUSE.split(plain[max(0, found.start() - _NEAR) : found.end()])[-1]):
            continue
        if found[0].endswith("updated") and found[0].startswith("account"):  # any write does it
            yield Promise(sentence, "", "")
            continue
        yield Promise(sentence, found["done"] or verbs.get(found["verb"] or "", ""), found["good"] or "")


def charges_in(sentence: Sentence) -> Iterator[Decimal]:
    """Find the amounts in one sentence that states a charge."""
    plain = sentence.plain
    if not sentence.question and _CHARGE.search(plain) and not _UNCHARGED.search(plain):
        yield from amounts_in(sentence)


def amounts_in(sentence: Sentence) -> Iterator[Decimal]:
    """Find the amounts of money in one sentence."""
    for dollars, words in _AMOUNT.findall(sentence.plain):
        yield Decimal(dollars or words)


def deadlines_in(sentence: Sentence) -> Iterator[Time]:
    """Find the times in one sentence within which, or by which, something happens for certain."""
    plain = sentence.plain
    for found in () if sentence.question else _DEADLINE.finditer(plain):
        if not _NO_DEADLINE.search(_CLAUSE.split(plain[max(0, found.start() - _NEAR) : found.start()])[-1]):
            yield from times_in(found[0])


def times_in(text: str) -> Iterator[Time]:
    """Find the spans of time and the days in a normalised text; business days count as days."""
    for found in _TIME.finditer(text):
        if found["unit"]:
            low, high = (_NUMBERS.get(count) or float(count) for count in (found["low"], found["high"] or found["low"]))
            yield Time(found[0], "", low * _MINUTES[found["unit"]], high * _MINUTES[found["unit"]])
        else:
            date = found["date"] and f"{_MONTHS.index(found['month']) + 1:02d}-{int(found['date']):02d}"
            yield Time(found[0], found["name"] or found["iso"] or date, 0, 0)
