"""Whether a trajectory agrees with itself: ids that were shown, rows that stay what they were, sums that add up.

Nothing here knows a world. A row is an object of an observation that has an id of its own. What a tool may have changed
is not held against the trajectory: after any call that does not only read, rows may have other values, but not the ones
that a confirmed change has just replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from simia_gym.common.formatting import shown
from simia_gym.common.json_encoding import encode
from simia_gym.trajectories.findings import Called, Finding, text_of
from simia_gym.types import JsonObject, Message

_ID_KEY = re.compile(r"(?:^|_)(?:ids?|asin|number|code|sku|uuid)$")
_OWN_ID = re.compile(r"^(?:id|.*_id|flight_number|asin|sku)$")
_TOKEN = re.compile(r"[a-z0-9]+")
_TOTAL = re.compile(r"^(?:grand_|order_|sub)?total(?:_price|_cost|_amount|_charge|_due)?$")
_PRICES = ("price", "cost", "amount", "subtotal")
_COUNTS = ("quantity", "count", "qty", "units")
_SUM = re.compile(r"((?:\$ ?[\d,]+(?:\.\d+)?\s*\+\s*)+\$ ?[\d,]+(?:\.\d+)?)\s*=\s*\$ ?([\d,]+(?:\.\d+)?)")
_CENT = 0.0051
_LONG = 3
_DEEPEST = 12


class _Row(NamedTuple):
    """A row as it was shown: its values, and after how many changes."""

    values: JsonObject
    changes: int


def consistency_findings(
    messages: Sequence[Message], calls: Sequence[Called], readers: frozenset[str]
) -> Iterator[Finding]:
    """Where a trajectory contradicts itself.

    Args:
        messages: Its messages.
        calls: Its calls.
        readers: Names of the tools that change nothing.
    """
    yield from _invented(messages, calls)
    yield from _other_answers(calls, readers)
    yield from _rows(calls, readers)
    yield from _totals(messages)


def _invented(messages: Sequence[Message], calls: Sequence[Called]) -> Iterator[Finding]:
    """Ids in calls of which a part stands in no message before."""
    known = ""
    upto = 0
    for call in calls:
        for message in messages[upto : call.place]:
            if message["role"] != "assistant":
                known += "\n" + text_of(message).lower()
        upto = max(upto, call.place)
        for key, value in _ids_in(call.arguments):
            strange = [part for part in _TOKEN.findall(value.lower()) if len(part) >= _LONG and part not in known]
            if strange:
                yield Finding("invented_id", call.place, f"{call.name}: {key} {shown(value, 60)} was never shown")


def _ids_in(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The ids in arguments: texts with a digit whose key says that they are ids."""
    if isinstance(value, str):
        if _ID_KEY.search(key) and any(char.isdigit() for char in value):
            yield key, value
    elif isinstance(value, list) and depth < _DEEPEST:
        for item in value:
            yield from _ids_in(item, key, depth + 1)
    elif isinstance(value, dict) and depth < _DEEPEST:
        for name, item in value.items():
            yield from _ids_in(item, name, depth + 1)


def _other_answers(calls: Sequence[Called], readers: frozenset[str]) -> Iterator[Finding]:
    """Calls that were made before, with nothing changed in between, and are answered otherwise."""
    before: dict[bytes, str] = {}
    for call in calls:
        if call.answered < 0:
            continue
        if call.name not in readers:
            before.clear()
            continue
        key = encode([call.name, call.arguments])
        said = before.setdefault(key, call.answer)
        if _canonical(said) != _canonical(call.answer):
            yield Finding("other_answer", call.answered, f"{call.name} was answered otherwise before")


def _rows(calls: Sequence[Called], readers: frozenset[str]) -> Iterator[Finding]:
    """Rows that are shown with other values although nothing was changed, or as before a confirmed change."""
    seen: dict[tuple[str, str], _Row] = {}
    undone: dict[tuple[str, str], JsonObject] = {}
    changes = 0
    for call in calls:
        if call.answered < 0:
            continue
        reads = call.name in readers
        changes += not reads
        row = _row_in(_json(call.answer))
        if row is None:
            continue
        key, values = row
        last = seen.get(key)
        others = [] if last is None else _others(last.values, values)
        if last is not None and others and reads and last.changes == changes:
            name = others[0]
            denied = undone.get(key, {}).get(name, ...) == values[name]
            what = f"{key[0]} {key[1]}: {name} is {shown(values[name], 40)}, and was {shown(last.values[name], 40)}"
            yield Finding("denied_write" if denied else "contradiction", call.answered, what)
            continue
        if last is not None and not reads:
            undone[key] = {name: last.values[name] for name in others}
        merged = {**last.values, **values} if last is not None and last.changes == changes else values
        seen[key] = _Row(merged, changes)


def _others(before: JsonObject, values: JsonObject) -> list[str]:
    """The keys under which a row has another value; lists and objects count where both views have the same keys."""
    whole = before.keys() == values.keys()
    return [
        name
        for name, item in values.items()
        if name in before and before[name] != item and (whole or not isinstance(item, list | dict))
    ]


def _row_in(value: Any) -> tuple[tuple[str, str], JsonObject] | None:
    """The row that an answer is: an object with an id of its own. Rows of a list may be one thing at several times."""
    if not isinstance(value, dict):
        return None
    own = next((name for name, item in value.items() if _OWN_ID.match(name) and isinstance(item, str)), None)
    return None if own is None else ((own, value[own]), value)


def _totals(messages: Sequence[Message]) -> Iterator[Finding]:
    for place, message in enumerate(messages):
        if message["role"] == "system":
            continue
        text = text_of(message)
        for parts, total in _SUM.findall(text):
            summed = sum(map(_money, parts.split("+")))
            if abs(summed - _money(total)) > _CENT:
                yield Finding("wrong_total", place, f"{parts} is {summed:,.2f}, not {total}")
        if message["role"] == "tool" and "total" in text:
            for name, total, summed in _sums_in(_json(text)):
                yield Finding("wrong_total", place, f"{name} is {total}, and its parts make {summed:,.2f}")


def _money(text: str) -> float:
    return float(text.strip().lstrip("$ ").replace(",", ""))


def _sums_in(value: Any, depth: int = 0) -> Iterator[tuple[str, float, float]]:
    """Totals of objects that hold one list of priced things and whose price is not the total."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        lists = [priced for item in value.values() if (priced := _priced(item)) is not None]
        totals = [(name, item) for name, item in value.items() if _TOTAL.match(name) and _is_number(item)]
        if len(lists) == 1 and len(totals) == 1:
            (name, total), (summed,) = totals[0], lists
            if abs(total - summed) > _CENT and not any(
                _TOTAL.match(other) is None and _is_extra(other) for other in value
            ):
                yield name, total, summed
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _sums_in(item, depth + 1)


def _priced(value: Any) -> float | None:
    """The sum of a list of objects that all have one price; ``None`` of anything else."""
    if not isinstance(value, list) or not value:
        return None
    summed = 0.0
    for item in value:
        prices = [name for name in _PRICES if isinstance(item, Mapping) and _is_number(item.get(name))]
        if len(prices) != 1:
            return None
        counts = [item[name] for name in _COUNTS if _is_number(item.get(name))]
        summed += item[prices[0]] * (counts[0] if counts else 1)
    return summed


def _is_extra(name: str) -> bool:
    """Whether a key beside a total names something that adds to it or is taken from it."""
    return re.search(r"tax|shipping|delivery|discount|fee|tip|coupon|credit|passenger|bag|insurance", name) is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _json(text: str) -> Any:
    """The value of a text that is a JSON object or list; ``None`` of any other."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _canonical(text: str) -> Any:
    value = _json(text)
    return text.strip() if value is None else value
