"""Ledger: the append-only, hash-chained list of all events of an episode.

Each event's hash covers the previous hash, so the last hash, the head, covers the whole ledger: changing, removing,
adding or moving an event changes the head. A ledger contains no wall-clock times, so the same episode gives the same
bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from simia_gym.common.json_encoding import decode, encode, hash_of
from simia_gym.errors import InputError
from simia_gym.record.blobs import BLOBS, without_large
from simia_gym.state.equality import identical
from simia_gym.state.frozen import FrozenDict, freeze
from simia_gym.state.pointer import make_pointer

Event = Mapping[str, Any]

_START = "0" * 64


class Ledger:
    """An append-only, hash-chained list of events.

    An event is ``{"i": position, "type": type, ...}`` with JSON fields. Events are frozen when they are appended, so
    later changes to the caller's values do not affect the ledger.

    Attributes:
        seconds: How long the replies of models, and the actions of policies that wait, took, by the positions of their
            events; in no event and in no hash.
        blobs: Values that are kept outside of the events, as canonical JSON by hash; see `simia_gym.record.blobs`.
    """

    __slots__ = ("_encoded", "_events", "_head", "blobs", "seconds")

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.seconds: dict[int, float] = {}
        self._events: list[FrozenDict] = []
        self._encoded: list[bytes] = []
        self._head = _START

    def append(self, type: str, /, **fields: Any) -> int:
        """Append an event.

        Args:
            type: The event's type.
            fields: The event's fields, as JSON values; ``i`` and ``blobs`` are reserved.

        Returns:
            The event's position, from 0.

        Raises:
            InputError: A field is not JSON.
        """
        position = len(self._events)
        if "i" in fields or BLOBS in fields:
            raise InputError(f"the fields 'i' and {BLOBS!r} are reserved", where=f"event {type!r}", fix="Rename it.")
        try:
            event = freeze({"i": position, "type": type, **fields})
        except InputError as error:
            raise InputError(error.what, where=f"event {type!r}, {error.where}", fix=error.fix) from None
        self._events.append(event)
        return position

    @property
    def events(self) -> tuple[FrozenDict, ...]:
        """All events so far, read-only."""
        return tuple(self._events)

    @property
    def head(self) -> str:
        """The hash of all events so far, 64 hex digits; each event is hashed once, when first needed."""
        self._catch_up()
        return self._head

    @property
    def encoded(self) -> Sequence[bytes]:
        """The bytes of each event as in a record; its large values are in `blobs`."""
        self._catch_up()
        return tuple(self._encoded)

    def _catch_up(self) -> None:
        for event in self._events[len(self._encoded) :]:
            self._encoded.append(without_large(event, self.blobs))
            self._head = hash_of(self._head.encode() + self._encoded[-1])

    def __len__(self) -> int:
        return len(self._events)

    @staticmethod
    def verify(events: Iterable[Event], head: str) -> None:
        """Check recorded events against the recorded head.

        Raises:
            InputError: An event was altered, added, moved or left out.
        """
        found = _START
        for event in events:
            found = hash_of(found.encode() + without_large(event, {}))
        if found != head:
            raise InputError(
                f"the hash of all events is {found[:12]}, recorded was {head[:12]}: "
                "an event was altered, added or left out",
                where="the record",
                fix="Replay it to find the event, or record the episode anew.",
            )


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


ABSENT: Any = _Absent()
"""Marks in a `Divergence` a value that exists on one side only."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first place at which two records differ.

    Attributes:
        index: Index of the event, from 0.
        path: JSON Pointer inside the event; ``""`` if one record has no such event.
        expected: The value in the first record, or `ABSENT`.
        got: The value in the second record, or `ABSENT`.
        type: The event's type in the first record; if absent there, in the second.
    """

    index: int
    path: str
    expected: Any
    got: Any
    type: str = ""

    def describe(self) -> str:
        """Describe the difference in one short line; long texts are shown from just before the first difference."""
        place = f"event {self.index} ({self.type})" if self.type else f"event {self.index}"
        if not self.path and self.got is ABSENT:
            return f"{place}: expected, but the record ends before it"
        if not self.path and self.expected is ABSENT:
            return f"{place}: not expected, the record should have ended before it"
        place = f"{place} at {self.path}" if self.path else place
        if isinstance(self.expected, dict) and isinstance(self.got, dict) and set(self.expected) == set(self.got):
            return f"{place}: expected keys in the order {_short(list(self.expected))}, got {_short(list(self.got))}"
        expected, got = self.expected, self.got
        if isinstance(expected, str) and isinstance(got, str):
            same = next(
                (i for i, (x, y) in enumerate(zip(expected, got, strict=False)) if x != y),
                min(len(expected), len(got)),
            )
            if same > 40:
                cut = same - 20
                return f"{place}, character {same}: expected ...{_short(expected[cut:])}, got ...{_short(got[cut:])}"
        return f"{place}: expected {_short(expected)}, got {_short(got)}"


def _short(value: Any, limit: int = 120) -> str:
    text = repr(value) if value is ABSENT else encode(value).decode()
    return text if len(text) <= limit else text[: limit - 3] + "..."


def first_divergence(expected_events: Iterable[Event], events: Iterable[Event]) -> Divergence | None:
    """Find the first place at which two records differ; ``None`` if both are equal byte for byte."""
    for index, (a, b) in enumerate(zip_longest(expected_events, events, fillvalue=ABSENT)):
        kind = (b if a is ABSENT else a).get("type", "")
        if a is ABSENT or b is ABSENT:
            return Divergence(index, "", a, b, kind)
        bytes_a, bytes_b = encode(a), encode(b)
        if bytes_a != bytes_b:
            # Compare decoded bytes: encoding may change a value of a live event, such as a lone surrogate.
            path, expected, got = _first_difference(decode(bytes_a), decode(bytes_b), ())
            return Divergence(index, make_pointer(*path), expected, got, kind)
    return None


_Path = tuple[str | int, ...]


def _first_difference(a: Any, b: Any, path: _Path) -> tuple[_Path, Any, Any]:
    """Path and values of the first difference inside two different values."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in (*a, *(key for key in b if key not in a)):
            if key not in a or key not in b:
                return (*path, key), a.get(key, ABSENT), b.get(key, ABSENT)
            if not identical(a[key], b[key]):
                return _first_difference(a[key], b[key], (*path, key))
    elif isinstance(a, list) and isinstance(b, list):
        for index, (x, y) in enumerate(zip(a, b, strict=False)):
            if not identical(x, y):
                return _first_difference(x, y, (*path, index))
        if len(a) != len(b):
            at = min(len(a), len(b))
            return (*path, at), a[at] if at < len(a) else ABSENT, b[at] if at < len(b) else ABSENT
    return path, a, b
