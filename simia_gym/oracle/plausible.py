"""Varies what a prompt leaves open in a correct answer, as a good model does that does not know the domain's code.

An answer that differs from the world's in one of these ways is as right as the world's own: the order of independent
operations, the spelling of whole numbers, the wording of confirmations and errors, codes of errors that are not
declared, and the style of JSON. Three more are open only if the tool's description does not name the place: the order
of new entries in a list, the sign of a computed amount in a new place, and whether other rows than those of the
call move, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from simia_gym.domain.tools import ToolSpec
from simia_gym.oracle.simulator import LedgerAnswer
from simia_gym.state import pointer_parts, thaw
from simia_gym.types import JsonObject, Op

_CODES = ("failed", "not_possible", "invalid_request", "rejected")
_ERRORS = ("Error: this is not possible: {}", "Error: {}", "Error: the call failed. {}", "Error: declined ({}).")
_CONFIRMATIONS = ("{}", "Done. {}", "OK: {}")
_ORDERED = re.compile(r"\b(?:in (?:this|that|the same|their) order|order in which|sorted|at the end)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SENTENCE = re.compile(r"(?<=[.;:])\s+|\n+")
_ENDING = re.compile(r"(?:es|s)$")


def vary(answer: LedgerAnswer, chance: Random) -> JsonObject:
    """The reply with everything drawn anew that the tool's description leaves open."""
    reply, spec = {**answer.reply}, answer.spec
    if spec is None or answer.repair:  # the violations say what was open
        return reply
    if reply["outcome"] == "error":
        return _other_error(reply, spec, chance)
    reply["ops"] = _Operations(answer, spec, chance).varied()
    if reply.get("observation"):
        reply["observation"] = _other_words(reply["observation"], spec, chance)
    return reply


def _other_error(reply: JsonObject, spec: ToolSpec, chance: Random) -> JsonObject:
    """The same error in other words; where none is declared and it is no missing row, also with another code."""
    if not spec.render_errors:
        text = str(reply["observation"]).removeprefix("Error:").strip()
        reply["observation"] = chance.choice(_ERRORS).format(text)
    if not spec.errors and reply["error_code"] not in ("not_found", "cut_off"):
        reply["error_code"] = chance.choice(_CODES)
    return reply


def _other_words(text: str, spec: ToolSpec, chance: Random) -> str:
    """JSON in another style; around the confirmation of a change other words."""
    if spec.answers == "json":
        with suppress(ValueError):
            separators = chance.choice([(",", ":"), (", ", ": ")])
            value = _reordered(json.loads(text), chance)
            return json.dumps(value, ensure_ascii=chance.random() < 0.5, separators=separators)
    told = " ".join(text.split()[:4]) in " ".join(spec.description.split())
    return text if told or spec.effect != "write" else chance.choice(_CONFIRMATIONS).format(text)


def _reordered(value: Any, chance: Random) -> Any:
    """A JSON value whose objects have their members in another order."""
    if isinstance(value, dict):
        names = list(value)
        chance.shuffle(names)
        return {name: _reordered(value[name], chance) for name in names}
    return [_reordered(item, chance) for item in value] if isinstance(value, list) else value


class _Operations:
    """The operations of an answer, to be varied."""

    def __init__(self, answer: LedgerAnswer, spec: ToolSpec, chance: Random) -> None:
        self.ops: list[Op] = [thaw(op) for op in answer.reply["ops"]]
        self.call, self.tables, self.spec, self.chance = answer.call, answer.tables, spec, chance
        self.lists = list(_lists([answer.call.arguments, answer.tables]))
        self.sentences = [each for each in _SENTENCE.split(_words(spec)) if each]

    def varied(self) -> list[Op]:
        self._leave_secondary()
        self._order_entries()
        for op in self.ops:
            if "value" in op:
                new = op["op"] == "add"
                op["value"] = self._value(op["value"], _names(op), new)
        return self._mixed()

    def _told(self, name: str, what: re.Pattern[str] | None = None) -> bool:
        """Whether a sentence of the description names a place (and says this of it)."""
        words = re.sub(r"[_-]+", " ", name).split()
        pattern = re.compile(r"[ _]".join(re.escape(_ENDING.sub("", word)) for word in words) or "$^", re.IGNORECASE)
        return any(pattern.search(each) and (what is None or what.search(each)) for each in self.sentences)

    def _leave_secondary(self) -> None:
        """Leave the numbers of rows as they are that neither the call nor the description of the tool names.

        A number that stands as a text in what is shown, such as in a field of a form, is what somebody wants to write.
        """
        named = set(_texts(self.call.arguments))
        written = {float(text) for text in _texts(self.tables) if _NUMBER.fullmatch(text)}
        rows: dict[tuple[str, ...], list[Op]] = {}
        for op in self.ops:
            rows.setdefault(pointer_parts(op["path"])[:2], []).append(op)
        for (_, key), ops in rows.items() if len(rows) > 1 else ():
            counts = all(op["op"] == "replace" and isinstance(op["value"], int | float) for op in ops)
            told = key in named or any(self._told(name) for op in ops for name in _names(op))
            told = told or (counts and all(op["value"] in written for op in ops))
            if counts and not told and self.chance.random() < 0.5:
                self.ops = [op for op in self.ops if op not in ops]

    def _order_entries(self) -> None:
        """Append several entries to one list in another order, unless the description tells it."""
        places: dict[str, list[int]] = {}
        for number, op in enumerate(self.ops):
            if op["op"] == "add" and op["path"].endswith("/-"):
                places.setdefault(op["path"], []).append(number)
        for path, numbers in places.items():
            if not self._told(_column(path), _ORDERED):
                values = [self.ops[number]["value"] for number in numbers]
                self.chance.shuffle(values)
                for number, value in zip(numbers, values, strict=True):
                    self.ops[number]["value"] = value

    def _value(self, value: Any, names: Sequence[str], new: bool) -> Any:
        name = names[-1] if names else ""
        if isinstance(value, dict):
            return {key: self._value(item, (*names, key), new) for key, item in value.items()}
        if isinstance(value, list):
            items = [self._value(item, names, new) for item in value]
            if len(items) > 1 and value not in self.lists and not self._told(name, _ORDERED):
                self.chance.shuffle(items)
            return items
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        shown = value in _numbers([self.call.arguments, self.tables])
        if new and value and not shown and not self._told(name) and self.chance.random() < 0.5:
            value = -value
        if isinstance(value, float) and value.is_integer() and self.chance.random() < 0.5:
            return int(value)
        return value

    def _mixed(self) -> list[Op]:
        """The operations in another order; those of one column stay in theirs."""
        groups: dict[tuple[str, ...], list[Op]] = {}
        for op in self.ops:
            groups.setdefault(pointer_parts(op["path"])[:3], []).append(op)
        whole = {place for place in groups if len(place) == 2}
        if any(place[:2] in whole for place in groups if len(place) > 2):
            return self.ops  # a row that is made first
        turns = [place for place, ops in groups.items() for _ in ops]
        self.chance.shuffle(turns)
        return [groups[place].pop(0) for place in turns]


def _words(spec: ToolSpec) -> str:
    described = (str(each.get("description", "")) for each in spec.parameters.get("properties", {}).values())
    return "\n".join([spec.description, *described])


def _names(op: Op) -> tuple[str, ...]:
    """The names of the fields on the way to an operation's place, without its row."""
    return tuple(part for part in pointer_parts(op["path"])[2:] if part != "-" and not part.isdigit())


def _column(path: str) -> str:
    parts = pointer_parts(path)
    return next((part for part in reversed(parts[2:]) if part != "-" and not part.isdigit()), "")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _lists(value: Any) -> Iterator[list[Any]]:
    """The lists that are in a value, which a reader copies as they are."""
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        if isinstance(item, list | tuple):
            yield thaw(item)
        yield from _lists(item)


def _numbers(value: Any) -> set[float]:
    if isinstance(value, Mapping):
        return set().union(*map(_numbers, value.values()))
    if isinstance(value, list | tuple):
        return set().union(*map(_numbers, value))
    if isinstance(value, str):
        return {float(found) for found in _NUMBER.findall(value)}
    return {value} if isinstance(value, int | float) and not isinstance(value, bool) else set()
