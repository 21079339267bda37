"""Whether the message before a yes says something else of a value than what the call that follows does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from simia_gym.common.json_encoding import texts_in
from simia_gym.language import Reading, chosen, returned
from simia_gym.record.finished_episode import CallMade, FinishedEpisode

Way: TypeAlias = Literal["paid", "returned"]
_OTHER: Mapping[Way, Way] = {"paid": "returned", "returned": "paid"}
_FAR = 160
"""Characters between the first part of a thing and its last."""
_NEAR = 40
"""Characters behind the last part in which other arguments may stand."""
_CODE = 2
"""Letters of a code, such as "ME", which may be another word."""
_END = re.compile(r"[.!?\n]")
_CENT = Decimal("0.01")
_WORD = re.compile(r"[a-z]{2,}(?![a-z]| #?\d)")
"""A word, but for one before a number, as in "unit 5"."""
_LINKS = frozenset((
    "and", "apartment", "apt", "at", "code", "floor", "in", "is", "line", "new", "number", "of", "postal", "postcode",
    "province", "street", "suite", "the", "town", "unit", "with", "zip", "zipcode",
))  # fmt: skip
"""Words between the parts of an address that are none of them."""


def contradicted(
    finished: FinishedEpisode,
    message: Reading,
    call: CallMade,
    binds: Iterable[Sequence[str]],
    money: Mapping[str, Way],
) -> str | None:
    """What a message says of the values of a call that is otherwise.

    Looked at are whether amounts are paid or returned; whether something is chosen that the call has or leaves out, if
    the message speaks of it by the argument's name; and what stands between the parts of a thing of which one part is
    enough, such as another city between the right street and the right zip code.

    Args:
        finished: The episode.
        message: The message before the yes.
        call: The call.
        binds: The arguments that a proposal must name, in groups of which one is enough.
        money: Fields that a write sets, to what happens with a positive amount in them.
    """
    flows = list(_flows(finished.events[call.event].get("ops") or (), money)) if money else []
    ways = {way for _, way in flows}
    if len(ways) == 1:
        own = {amount for amount, _ in flows if amount is not None}
        amounts = None if len(own) == 0 else {*own, sum(own, Decimal(0))}
        for one in message.standing.sentences:
            if any(back != (ways == {"returned"}) for back in returned(one.plain, amounts)):
                return f"the proposal before the yes has money go the other way: {one.said!r}"
    for name, value in call.arguments.items():
        has = value if isinstance(value, bool) else {"yes": True, "no": False}.get(str(value))
        if has is not None:
            said = [stance for one in message.sentences for stance in chosen(one.plain, name.replace("_", " "))]
            if said and said[-1] != has:
                return f"the proposal before the yes says the opposite of its {name}"
    for group in binds:
        wrong = _between(message.words, call, group) if len(group) > 1 else None
        if wrong is not None:
            return f"the proposal before the yes has {wrong!r} among its {' and '.join(group)}"
    return None


def _flows(changes: Iterable[Mapping[str, Any]], money: Mapping[str, Way]) -> Iterator[tuple[Decimal | None, Way]]:
    """The amounts that some changes move, and where to; no amount where a field only says that money moves."""
    for change in changes:
        names = [name for name in change["path"].split("/") if name in money]
        value = change.get("value")
        set_here = value if not names and isinstance(value, Mapping) else {names[-1]: value} if names else {}
        for name in money.keys() & set_here.keys():
            item, usual = set_here[name], money[name]
            for row in item if isinstance(item, list) else [item]:
                numbers = row.values() if isinstance(row, Mapping) else [row]
                moved = [one for one in numbers if type(one) in (int, float) and one]
                for one in moved:
                    turned = (one < 0) != ("refund" in texts_in(row))
                    yield abs(Decimal(str(one))).quantize(_CENT), _OTHER[usual] if turned else usual
                if not moved and isinstance(row, str):
                    yield None, usual


def _between(words: str, call: CallMade, group: Sequence[str]) -> str | None:
    """What stands between the parts of a thing, or right behind them, and is none of them."""
    parts = [str(call.arguments[name]).lower() for name in group if call.arguments.get(name)]
    for first, last in pairwise(parts):
        start = words.rfind(first)
        end = words.find(last, start + len(first)) if start >= 0 else -1
        if end < 0 or end - start > _FAR:
            continue
        texts = [value.lower() for value in call.arguments.values() if isinstance(value, str) and value]
        rest = _END.split(words[end + len(last) : end + len(last) + _NEAR])[0]
        more = [rest.find(text) for text in texts if len(text) > _CODE and text in rest]
        known = {word for text in (*texts, *call.arguments) for word in _WORD.findall(text)} | _LINKS
        for word in _WORD.findall(f"{words[start + len(first) : end]} {rest[: min(more, default=0)]}"):
            if word not in known and not any(_shortens(word, text) for text in texts):
                return str(word)
    return None


def _shortens(one: str, other: str) -> bool:
    """Whether one of two words has the letters of the other in their order, as "il" and "illinois"."""
    short, long = sorted((one, other), key=len)
    letters = iter(long)
    return short[0] == long[0] and all(letter in letters for letter in short)
