"""Whether the amounts of money in a proposal are right: what it concerns must show them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from typing import Any

from simia_gym.common.json_encoding import decode, texts_in
from simia_gym.language import read
from simia_gym.record.finished_episode import CallMade, FinishedEpisode, UserTurn

_NUMBER = re.compile(r"[:\[,$]\s?-?(\d{1,12}(?:\.\d{1,2})?)(?=[,}\]\s!?;]|\.\D|\.?$)")
"""A number in JSON that may be an amount, or an amount in words."""
_RANGE = re.compile(r"\$\s?(\d{1,9}(?:\.\d\d)?)\s?(?:-|–|—|to)\s?\$\s?(\d{1,9}(?:\.\d\d)?)(?![\d,.]*\d)")
"""From the least amount to the most."""
_CENT = Decimal("0.01")
_HUGE = 1e12
_MOST = 8
"""Longer lists are added up as a whole, so that the cost is bounded."""
ID = re.compile(r"(?<![\w-])(?!\d{4}-\d\d-\d\d)(?=[\w-]{3})[\w-]*\d[\w-]*|[A-Z]{5,}")
"""What names a row: a word of at least three characters with a digit, but no date; or five capitals or more."""


def numbers_in(texts: Iterable[str]) -> set[Decimal]:
    """The numbers in JSON, and the amounts of money in words."""
    return {Decimal(number) for text in texts for number in _NUMBER.findall(f":{text}")}


def unshown(
    finished: FinishedEpisode, writes: Sequence[CallMade], yes: UserTurn, objects: Set[str], prices: Iterable[Decimal]
) -> str | None:
    """What is wrong with the amounts in the message before a yes: the first that nothing shows.

    Shown are the numbers in the writes, in their answers, in what they change, and in the rows of tools' answers that
    the writes or the message name, but for those of other objects; the sums of numbers of a field in one list, or in
    the rows of the writes; what there is for each, if a row lists several of something; the differences of two numbers
    of a field; and what the user, the policy or a tool has said in words. Whole dollars may be rounded. The ends of a
    range ("$226 to $272") may be those of any numbers that tools have shown.

    Args:
        finished: The episode.
        writes: The writes that the yes covers.
        yes: The yes.
        objects: The arguments that name the objects of writes.
        prices: Amounts that the policy gives.
    """
    told = next((one.text for one in reversed(finished.agent_turns) if one.event <= yes.event), "")
    message = read(told)
    stated = dict.fromkeys(message.standing.amounts)
    done = [finished.events[one.event] for one in writes] if stated else ()
    known = {Decimal(0), *prices, *numbers_in(str(event[key]) for event in done for key in ("call", "observation"))}
    amounts = [amount for amount in stated if amount not in known]
    if not amounts:
        return None
    texts = [text for write in writes for text in texts_in(write.arguments)]
    given = frozenset([*texts, *(text.lstrip("#") for text in texts)])
    own = {str(write.arguments[name]).lstrip("#") for write in writes for name in objects & write.arguments.keys()}
    named = own.union(text for text in (*given, *ID.findall(told)) if ID.fullmatch(text))
    named.update([f"#{text}" for text in named])
    words = given.union(message.words.split())
    known.update(
        amount for turn in finished.user_turns if turn.event <= yes.event for amount in read(turn.text).amounts
    )
    shown = _Shown(known, words)
    rows: list[tuple[str, Mapping[str, Any]]] = []
    for call in reversed([one for one in finished.calls if one.event <= writes[-1].event]):
        answer = _decoded(finished.events[call.event]["observation"])
        found = list(_rows(answer, "", named, objects))
        rows += found
        shown.add([row for _, row in found])
        if isinstance(answer, str):
            shown.sums.update(read(answer).amounts)
        amounts = [amount for amount in amounts if amount not in shown]
        if not amounts:
            return None
    latest = {given.intersection((key, *_strings(row))): row for key, row in reversed(rows)}
    shown.add_columns(_listed([row for names, row in latest.items() if names]))
    shown.add([dict(one.arguments) for one in writes])
    changes = [change for one in done for change in one.get("ops") or ()]
    shown.add([{change["path"].rpartition("/")[-1]: change.get("value")} for change in changes])
    wrong = next((one for one in amounts if one not in shown and not _ends(one, told, finished, writes[-1])), None)
    return None if wrong is None else f"the proposal before the yes has an amount of {wrong} that nothing shows"


def _ends(amount: Decimal, told: str, finished: FinishedEpisode, write: CallMade) -> bool:
    """Whether an amount is an end of a range in a message, and rounds a number that a tool showed before a write."""
    if not any(Decimal(end) == amount for ends in _RANGE.findall(told) for end in ends):
        return False
    seen = (str(finished.events[one.event]["observation"]) for one in finished.calls if one.event < write.event)
    return any(abs(amount - number) < 1 for number in numbers_in(seen))


class _Shown:
    """The amounts that some numbers show.

    Args:
        sums: Amounts that are shown whatever the numbers are.
        words: The words of the proposal, which name some of the numbers.
    """

    def __init__(self, sums: set[Decimal], words: Set[str]) -> None:
        self.sums = sums
        self._words = words
        self._fields = defaultdict[str, set[Decimal]](set)
        self._counts = {1}

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add the numbers in some rows; a list in one of them may say how many the numbers are for."""
        self._counts.update(len(item) for row in rows for item in row.values() if isinstance(item, list) and item)
        for row in rows:
            self.add_columns(_columns(row, "", self._words))

    def add_columns(self, columns: Iterable[tuple[str, Sequence[Decimal]]]) -> None:
        """Add the numbers of some fields, those of one list together."""
        for field, numbers in columns:
            self.sums |= _sums(numbers)
            self._fields[field].update(numbers)

    def __contains__(self, amount: Decimal) -> bool:
        return (
            any(amount * count in self.sums for count in self._counts)
            or any(amount + one in numbers for numbers in self._fields.values() for one in numbers)
            or (amount == amount.to_integral_value() and any(abs(amount - one) < 1 for one in self.sums))
        )


def _decoded(answer: str) -> Any:
    """An answer of a tool, as a text if it is no JSON."""
    try:
        return decode(answer)
    except (ValueError, RecursionError):
        return answer


def _strings(row: Mapping[str, Any]) -> list[str]:
    """The texts in an object, but for those in what stands inside it."""
    return [item for item in row.values() if isinstance(item, str)]


def _rows(value: Any, key: str, named: Set[str], objects: Set[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects in an answer that are named, by their key or a text in them; nothing in those with another's name."""
    if isinstance(value, list):
        for item in value:
            yield from _rows(item, "", named, objects)
    elif isinstance(value, dict):
        texts = _strings(value)
        if any(value[name] in texts and value[name] not in named for name in objects & value.keys()):
            return
        if key in named or not named.isdisjoint(texts):
            yield key, value
        for name, item in value.items():
            if isinstance(item, dict | list):
                yield from _rows(item, name, named, objects)


def _listed(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[Decimal]]]:
    """The numbers of each field of some rows, together."""
    for name in dict.fromkeys(name for row in rows for name in row) if len(rows) > 1 else ():
        yield name, [_amount(row[name]) for row in rows if _is_amount(row.get(name))]


def _columns(value: Any, key: str, words: Set[str]) -> Iterator[tuple[str, list[Decimal]]]:
    """The numbers of each field, and those of the rows of a list together; of numbers by name, those that are named.

    What has an id for its key is a row of its own.
    """
    if isinstance(value, list):
        yield from _listed([item for item in value if isinstance(item, dict)])
        for item in value:
            yield from _columns(item, key, words)
    elif isinstance(value, dict):
        numbers = {name: _amount(item) for name, item in value.items() if _is_amount(item)}
        alike = len(numbers) == len(value)
        some = {name for name in numbers if words >= {*name.split("_")}} if alike else set()
        for name, number in numbers.items():
            if not some or name in some:
                yield key if alike else name, [number]
        for name, item in value.items():
            if isinstance(item, list) or (isinstance(item, dict) and not ID.fullmatch(name)):
                yield from _columns(item, name, words)


def _is_amount(value: Any) -> bool:
    """Whether a value is a number, and not too large for an amount."""
    return type(value) in (int, float) and abs(value) < _HUGE


def _amount(value: float) -> Decimal:
    return abs(Decimal(str(value))).quantize(_CENT)


def _sums(numbers: Sequence[Decimal]) -> set[Decimal]:
    """The sums of some of the numbers."""
    if len(numbers) > _MOST:
        return {*numbers, sum(numbers, Decimal(0))}
    found = {Decimal(0)}
    for number in numbers:
        found |= {number + one for one in found}
    return found
