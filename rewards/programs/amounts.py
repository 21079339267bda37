"""Whether the amounts of money in a proposal are right: what it concerns must show them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from itertools import chain
from typing import Any

from simia_gym.common.json_encoding import decode
from simia_gym.language import read
from simia_gym.record.finished_episode import CallMade, FinishedEpisode, UserTurn

_NUMBER = re.compile(r"(?<=[\s:\[,-])\d{1,12}(?:\.\d{1,2})?(?=[,}\]])")
"""A number in JSON that may be an amount."""
_CENT = Decimal("0.01")
_HUGE = 1e12
_MOST = 8
"""Longer lists are added up as a whole, so that the cost is bounded."""
_ID = re.compile(r"(?<![\w-])(?!\d{4}-\d\d-\d\d)[\w-]*\d[\w-]*|[A-Z]{5,}")
"""What names a row: a word with a digit that is no date, or one in capitals."""


def unshown(
    finished: FinishedEpisode, writes: Sequence[CallMade], yes: UserTurn, objects: Set[str], prices: Iterable[Decimal]
) -> str | None:
    """What is wrong with the amounts in the message before a yes: the first that nothing shows.

    Shown are the numbers in the writes, in their answers, in what they change, and in the rows of tools' answers that
    the writes or the message name, but for those of other objects; the sums of numbers of a field in one list, or in
    the rows of the writes; what there is for each, if a row lists several of something; the differences of two numbers
    of a field; and what the user, the policy or a tool has said in words. Whole dollars may be rounded.

    Args:
        finished: The episode.
        writes: The writes that the yes covers.
        yes: The yes.
        objects: The arguments that name the objects of writes.
        prices: Amounts that the policy gives.
    """
    told = next((one.text for one in reversed(finished.agent_turns) if one.event <= yes.event), "")
    message = read(told)
    outcome = {number for write in writes for number in _NUMBER.findall(finished.events[write.event]["observation"])}
    known = {Decimal(0), *map(Decimal, outcome)}
    amounts = [amount for amount in dict.fromkeys(message.standing.amounts) if amount not in known]
    if not amounts:
        return None
    given = {text.lstrip("#") for write in writes for text in _texts(dict(write.arguments))}
    own = {str(write.arguments[name]).lstrip("#") for write in writes for name in objects & write.arguments.keys()}
    named = own.union(text for text in (*given, *_ID.findall(told)) if _ID.fullmatch(text))
    words = given.union(message.words.split())
    changes = [change for write in writes for change in finished.events[write.event].get("ops") or ()]
    changed = [{change["path"].rpartition("/")[-1]: change.get("value")} for change in changes]
    heard = [turn.text for turn in finished.user_turns if turn.event <= yes.event]
    calls = [one for one in finished.calls if one.event <= writes[-1].event]
    answers = [_decoded(finished.events[one.event]["observation"]) for one in calls]
    found = [one for answer in answers for one in _rows(answer, "", named, objects)]
    rows = [*(dict(one.arguments) for one in writes), *changed, *{id(row): row for _, row in found}.values()]
    together = list({name: row for name, row in found if name in given}.values())
    texts = [*heard, *(one for one in answers if isinstance(one, str))]
    spoken = (amount for text in texts for amount in read(text).amounts)
    columns = (column for row in rows for column in _columns(row, "", words))
    shown = _Shown(chain(_listed(together), columns), {Decimal(0), *prices, *spoken}, rows)
    wrong = next((amount for amount in amounts if amount not in shown), None)
    return None if wrong is None else f"the proposal before the yes has an amount of {wrong} that nothing shows"


class _Shown:
    """The amounts that some numbers show.

    Args:
        columns: The numbers of each field, those of one list together.
        sums: Amounts that are shown beside them.
        rows: The rows with the numbers; a list in one of them may say how many the numbers are for.
    """

    def __init__(
        self, columns: Iterable[tuple[str, Sequence[Decimal]]], sums: set[Decimal], rows: Sequence[Mapping[str, Any]]
    ) -> None:
        self._fields = defaultdict[str, set[Decimal]](set)
        self._sums = sums
        for field, numbers in columns:
            self._sums |= _sums(numbers)
            self._fields[field].update(numbers)
        self._counts = {1, *(len(item) for row in rows for item in row.values() if isinstance(item, list) and item)}

    def __contains__(self, amount: Decimal) -> bool:
        return (
            any(amount * count in self._sums for count in self._counts)
            or any(amount + one in numbers for numbers in self._fields.values() for one in numbers)
            or (amount == amount.to_integral_value() and any(abs(amount - one) < 1 for one in self._sums))
        )


def _decoded(answer: str) -> Any:
    """An answer of a tool, as a text if it is no JSON."""
    try:
        return decode(answer)
    except (ValueError, RecursionError):
        return answer


def _texts(value: Any) -> Iterator[str]:
    """The texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _rows(value: Any, key: str, named: Set[str], objects: Set[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows in an answer that are named, by their key or an id in them; nothing in the rows of other objects."""
    if isinstance(value, list):
        for item in value:
            yield from _rows(item, "", named, objects)
    elif isinstance(value, dict):
        ids = {name: item.lstrip("#") for name, item in value.items() if isinstance(item, str)}
        if any(ids[name] not in named for name in objects & ids.keys()):
            return
        yield from ((one, value) for one in (key, *ids.values()) if one in named)
        for name, item in value.items():
            if isinstance(item, dict | list):
                yield from _rows(item, name, named, objects)


def _listed(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[Decimal]]]:
    """The numbers of each field of some rows, together."""
    for name in dict.fromkeys(name for row in rows for name in row) if len(rows) > 1 else ():
        yield name, [number for row in rows for number in _number(row.get(name))]


def _columns(value: Any, key: str, words: Set[str]) -> Iterator[tuple[str, list[Decimal]]]:
    """The numbers of each field, and those of the rows of a list together; of numbers by name, those that are named.

    What has an id for its key is a row of its own.
    """
    if isinstance(value, list):
        yield from _listed([item for item in value if isinstance(item, dict)])
        for item in value:
            yield from _columns(item, key, words)
    elif isinstance(value, dict):
        numbers = {name: number for name, item in value.items() for number in _number(item)}
        alike = len(numbers) == len(value)
        some = {name for name in numbers if words >= {*name.split("_")}} if alike else set()
        for name, number in numbers.items():
            if not some or name in some:
                yield key if alike else name, [number]
        for name, item in value.items():
            if isinstance(item, list) or (isinstance(item, dict) and not _ID.fullmatch(name)):
                yield from _columns(item, name, words)


def _number(value: Any) -> Iterator[Decimal]:
    """A number as an amount; none that is too large for one."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _HUGE:
        yield abs(Decimal(str(value))).quantize(_CENT)


def _sums(numbers: Sequence[Decimal]) -> set[Decimal]:
    """The sums of some of the numbers."""
    if len(numbers) > _MOST:
        return {*numbers, sum(numbers, Decimal(0))}
    found = {Decimal(0)}
    for number in numbers:
        found |= {number + one for one in found}
    return found
