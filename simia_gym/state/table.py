"""An immutable table of a state: a base that related states share, and layers of changed rows.

An entry is a row (None if removed) and its position: 0 for its position in the base, else its number among the added
rows, from 1. A commit puts a small layer over the older ones and merges it with those that are not much larger. So
there are few layers, most are shared with the state before, and an entry is rarely copied or indexed again: the cost of
a commit or a search depends on the rows that it touches, hardly on all that have changed, and not on the base.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, TypeAlias

import orjson

from simia_gym.state.frozen import FrozenDict, freeze
from simia_gym.types import Row

IndexFn: TypeAlias = Callable[[str, Row], Hashable | None]
Entry: TypeAlias = tuple[int, FrozenDict | None]
#: A new row (a dict, which is frozen once it is committed; None: removed), and whether it goes after all others, as an
#: added row does.
Change: TypeAlias = tuple[Any, bool]

_TIMES_LARGER = 4
"""How many times larger than a layer the next one is at least."""


def _hash_of_row(key: str, row: Row | None) -> int:
    """A number of 512 bits, 0 if there is no row; the order of the keys in objects does not count."""
    if row is None:
        return 0
    try:
        text = orjson.dumps([key, row], option=orjson.OPT_SORT_KEYS)
    except TypeError:  # big integers, lone surrogates
        text = json.dumps([key, row], sort_keys=True).encode()
    return int.from_bytes(blake2b(text).digest(), "big")


class _Indexed(ABC):
    """Rows that never change, with indexes that depend on these rows only."""

    __slots__ = ("_indexes",)

    def __init__(self) -> None:
        self._indexes: dict[Hashable, dict[Hashable, list[str]]] = {}

    @abstractmethod
    def items(self) -> Iterable[tuple[str, FrozenDict]]:
        """The rows with their keys."""

    def index(
        self, name: Hashable, values: Callable[[str, FrozenDict], Iterable[Hashable]]
    ) -> Mapping[Hashable, list[str]]:
        """Keys by value, in row order; built once per name.

        Args:
            name: The index's name, or an object that stands for it.
            values: Computes the values under which a row is found.
        """
        index = self._indexes.get(name)
        if index is None:
            index = {}
            for key, row in self.items():
                for value in dict.fromkeys(values(key, row)):
                    index.setdefault(value, []).append(key)
            self._indexes[name] = index  # only now that it is whole: `values` may raise, and threads share it
        return index


class BaseTable(_Indexed):
    """The initial rows of a table."""

    __slots__ = ("_hash", "_places", "rows")

    def __init__(self, rows: Mapping[str, Row]) -> None:
        super().__init__()
        self.rows: FrozenDict = freeze(rows)
        self._places: dict[str, int] = {}
        self._hash: int | None = None

    def __reduce__(self) -> tuple[object, ...]:
        # Indexes are not pickled; they are rebuilt on demand.
        return BaseTable, (self.rows,)

    def items(self) -> Iterable[tuple[str, FrozenDict]]:
        """The rows with their keys."""
        return self.rows.items()

    def hash(self) -> int:
        """The sum of the hashes of the rows; computed once."""
        if self._hash is None:
            self._hash = sum(_hash_of_row(key, row) for key, row in self.rows.items())
        return self._hash

    def place(self, key: str) -> int:
        """Position of a row among all rows of the base."""
        if not self._places:
            self._places = {each: place for place, each in enumerate(self.rows)}
        return self._places[key]


class Layer(_Indexed):
    """Changed rows, which states may share.

    Attributes:
        entries: The entries by key, in no particular order.
    """

    __slots__ = ("entries",)

    def __init__(self, entries: dict[str, Entry]) -> None:
        super().__init__()
        self.entries = entries

    def __reduce__(self) -> tuple[object, ...]:
        return Layer, (self.entries,)

    def items(self) -> Iterable[tuple[str, FrozenDict]]:
        """The rows with their keys, without the removed ones."""
        return ((key, row) for key, (_, row) in self.entries.items() if row is not None)


class Table:
    """An immutable table.

    Attributes:
        base: The initial rows.
        layers: The changed rows; an earlier layer covers the later ones, each of which is much larger.
        turns: Number of rows that have ever been added.
        count: Current number of rows.
    """

    __slots__ = ("base", "count", "layers", "turns")

    def __init__(self, base: BaseTable, layers: tuple[Layer, ...], turns: int, count: int) -> None:
        self.base, self.layers, self.turns, self.count = base, layers, turns, count

    @classmethod
    def of(cls, rows: Mapping[str, Row]) -> Table:
        """Make a table without changes."""
        return cls(BaseTable(rows), (), 0, len(rows))

    def entry(self, key: str) -> Entry | None:
        """The entry of a row; None if it has not changed."""
        for layer in self.layers:
            entry = layer.entries.get(key)
            if entry is not None:
                return entry
        return None

    def get(self, key: str) -> FrozenDict | None:
        """The current row, or None."""
        entry = self.entry(key)
        return self.base.rows.get(key) if entry is None else entry[1]

    def place(self, key: str) -> tuple[int, int]:
        """A sort key that gives the order of `rows`."""
        entry = self.entry(key)
        return (entry[0], 0) if entry is not None and entry[0] else (0, self.base.place(key))

    def rows(self) -> Iterator[tuple[str, FrozenDict]]:
        """Rows of the base in their order, then added rows in the order of addition."""
        if not self.layers:
            yield from self.base.rows.items()
            return
        entries = {key: entry for layer in reversed(self.layers) for key, entry in layer.entries.items()}
        for key, row in self.base.rows.items():
            entry = entries.get(key)
            if entry is None:
                yield key, row
            elif entry[0] == 0 and entry[1] is not None:
                yield key, entry[1]
        added = [(turn, key, row) for key, (turn, row) in entries.items() if turn and row is not None]
        for _, key, row in sorted(added, key=lambda item: item[0]):
            yield key, row

    def keys_of(
        self, name: Hashable, values: Callable[[str, FrozenDict], Iterable[Hashable]], value: Hashable
    ) -> list[str]:
        """Keys of the rows that are found under a value, in row order; see `BaseTable.index`."""
        found = self.base.index(name, values).get(value, ())
        keys = [key for key in found if self.entry(key) is None]
        changed = [
            key
            for layer in self.layers
            for key in layer.index(name, values).get(value, ())
            if self.entry(key) is layer.entries[key]
        ]
        return sorted((*keys, *changed), key=self.place) if changed else keys

    def find(self, name: str, fn: IndexFn, value: Hashable, pending: Mapping[str, Change]) -> list[str]:
        """Keys of the rows that have a computed value, in row order.

        Args:
            name: The index's name.
            fn: Computes a row's value from its key and the row; None omits the row.
            value: The value.
            pending: The changes of a draft of this table.
        """
        if value is None:
            return []

        def values(key: str, row: Row) -> tuple[Hashable, ...]:
            return () if (found := fn(key, row)) is None else (found,)

        keys = [key for key in self.keys_of(name, values, value) if key not in pending]
        new = {key: behind for key, (row, behind) in pending.items() if row is not None and fn(key, row) == value}
        if not all(new.values()):
            keys = sorted((*keys, *(key for key, behind in new.items() if not behind)), key=self.place)
        return keys + [key for key, behind in new.items() if behind]

    def hash(self) -> int:
        """The sum of the hashes of the rows, which follows from that of the base and the changed rows."""
        keys = {key for layer in self.layers for key in layer.entries}
        new = sum(_hash_of_row(key, self.get(key)) for key in keys)
        return self.base.hash() + new - sum(_hash_of_row(key, self.base.rows.get(key)) for key in keys)

    def updated(self, changes: Mapping[str, Change]) -> Table:
        """Make a table with changed rows, which are frozen."""
        entries: dict[str, Entry] = {}
        turns, count, rows = self.turns, self.count, self.base.rows
        for key, (row, behind) in changes.items():
            entry = self.entry(key) if self.layers else None
            before = rows.get(key) if entry is None else entry[1]
            count += (row is not None) - (before is not None)
            if row is None:
                entries[key] = (0, None)
            elif behind:
                turns += 1
                entries[key] = (turns, row)
            else:
                entries[key] = (0 if entry is None else entry[0], row)
        older = self.layers
        while older and len(older[0].entries) < _TIMES_LARGER * len(entries):
            entries = {**older[0].entries, **entries}
            older = older[1:]
        if not older:  # then no layer is left in which a row that was added and removed must be covered
            entries = {key: entry for key, entry in entries.items() if entry[1] is not None or key in rows}
        return Table(self.base, (Layer(entries), *older) if entries else older, turns, count)
