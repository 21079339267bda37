"""An immutable table of a state: a base that related states share, and the changes since.

Changes are in two layers. The small layer is copied at each commit; when its size exceeds about the square root of the
large layer's, both are merged into a new large layer. So a commit is cheap, whatever the size of the base, even after
thousands of changed rows. A table never changes its layers.

An entry is a row (None if removed) and its position: 0 for its position in the base, else its number among the added
rows, from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from math import isqrt
from typing import TypeAlias

from simia_gym.state.frozen import FrozenDict, freeze
from simia_gym.types import Row

IndexFn: TypeAlias = Callable[[str, Row], Hashable | None]
Buckets: TypeAlias = dict[Hashable, tuple[str, ...]]
Entry: TypeAlias = tuple[int, FrozenDict | None]
#: A new row (None: removed), and whether it goes after all others, as an added row does.
Change: TypeAlias = tuple[FrozenDict | None, bool]


def _fill(buckets: Buckets, fn: IndexFn, rows: Iterator[tuple[str, FrozenDict]]) -> Buckets:
    lists: dict[Hashable, list[str]] = {}
    for key, row in rows:
        value = fn(key, row)
        if value is not None:
            lists.setdefault(value, []).append(key)
    buckets.update((value, tuple(keys)) for value, keys in lists.items())
    return buckets


class BaseTable:
    """The initial rows of a table, with caches that depend on these rows only.

    Attributes:
        rows: The frozen rows by key.
    """

    __slots__ = ("_indexes", "_places", "rows")

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self.rows: FrozenDict = freeze(rows)
        self._indexes: dict[str, Buckets] = {}
        self._places: dict[str, int] = {}

    def __reduce__(self) -> tuple[object, ...]:
        # Indexes are not pickled; they are rebuilt on demand.
        return BaseTable, (self.rows,)

    def index(self, name: str, fn: IndexFn) -> Buckets:
        """Keys by value, in row order; built once per name."""
        buckets = self._indexes.get(name)
        if buckets is None:
            buckets = self._indexes[name] = _fill({}, fn, iter(self.rows.items()))
        return buckets

    def place(self, key: str) -> int:
        """Position of a row among all rows of the base."""
        if not self._places:
            self._places = {each: place for place, each in enumerate(self.rows)}
        return self._places[key]


class Layer:
    """Changed rows that several tables may share; immutable.

    Attributes:
        entries: Entries of the changed rows by key.
    """

    __slots__ = ("_indexes", "_mark", "_newer", "_parent_mark", "entries")

    def __init__(self, entries: dict[str, Entry]) -> None:
        self.entries = entries
        # The entries added since the parent layer; the marks identify the parent without a reference to it.
        self._mark, self._parent_mark = object(), object()
        self._newer: Mapping[str, Entry] = {}
        self._indexes: dict[str, tuple[IndexFn, Buckets]] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return Layer, (self.entries,)

    def index(self, name: str, fn: IndexFn) -> Buckets:
        """Keys of changed rows by value, in no particular order; built once per name."""
        known = self._indexes.get(name)
        if known is None:
            rows = ((key, row) for key, (_, row) in self.entries.items() if row is not None)
            known = self._indexes[name] = (fn, _fill({}, fn, rows))
        return known[1]

    def merged(self, newer: Mapping[str, Entry], base: FrozenDict) -> Layer:
        """Make a layer with these entries and newer ones; indexes are updated, not rebuilt."""
        entries = dict(self.entries)
        for key, entry in newer.items():
            if entry[1] is None and key not in base:
                entries.pop(key, None)
            else:
                entries[key] = entry
        layer = Layer(entries)
        layer._parent_mark, layer._newer = self._mark, newer
        for name, (fn, buckets) in self._indexes.items():
            layer._indexes[name] = (fn, self._carried(fn, buckets, newer))
        return layer

    def keys_apart(self, other: Layer) -> Iterable[str]:
        """A superset of the keys whose entries differ between two layers; small if one was made from the other."""
        if self is other:
            return ()
        if self._parent_mark is other._mark:
            return self._newer
        if other._parent_mark is self._mark:
            return other._newer
        return {**self.entries, **other.entries}

    def _carried(self, fn: IndexFn, buckets: Buckets, newer: Mapping[str, Entry]) -> Buckets:
        result = dict(buckets)
        for key, (_, row) in newer.items():
            _, old_row = self.entries.get(key, (0, None))
            old = None if old_row is None else fn(key, old_row)
            new = None if row is None else fn(key, row)
            if old == new:
                continue
            if old is not None:
                left = tuple(each for each in result[old] if each != key)
                if left:
                    result[old] = left
                else:
                    del result[old]
            if new is not None:
                result[new] = (*result.get(new, ()), key)
        return result


class Table:
    """An immutable table.

    Attributes:
        base: The initial rows.
        main: The large layer of changes.
        delta: The small layer of changes, which overrides the large one.
        turns: Number of rows that have ever been added.
        count: Current number of rows.
    """

    __slots__ = ("base", "count", "delta", "main", "turns")

    def __init__(self, base: BaseTable, main: Layer, delta: dict[str, Entry], turns: int, count: int) -> None:
        self.base, self.main, self.delta, self.turns, self.count = base, main, delta, turns, count

    @classmethod
    def of(cls, rows: Mapping[str, Row]) -> Table:
        """Make a table without changes."""
        return cls(BaseTable(rows), Layer({}), {}, 0, len(rows))

    def entry(self, key: str) -> Entry | None:
        """The entry of a changed row, else None."""
        return self.delta.get(key) or self.main.entries.get(key)

    def get(self, key: str) -> FrozenDict | None:
        """The current row, or None."""
        entry = self.delta.get(key) or self.main.entries.get(key)
        return self.base.rows.get(key) if entry is None else entry[1]

    def rows(self) -> Iterator[tuple[str, FrozenDict]]:
        """Rows of the base in their order, then added rows in the order of addition."""
        if not self.delta and not self.main.entries:
            yield from self.base.rows.items()
            return
        for key, row in self.base.rows.items():
            entry = self.entry(key)
            if entry is None:
                yield key, row
            elif entry[0] == 0 and entry[1] is not None:
                yield key, entry[1]
        if self.turns:
            for _, key, row in sorted(
                ((turn, key, row) for key, (turn, row) in self.changes() if turn and row is not None),
                key=lambda item: item[0],
            ):
                yield key, row

    def changes(self) -> Iterator[tuple[str, Entry]]:
        """The current entries of all changed rows, in no particular order."""
        yield from self.delta.items()
        for key, entry in self.main.entries.items():
            if key not in self.delta:
                yield key, entry

    def keys_apart(self, other: Table) -> set[str]:
        """A superset of the keys whose rows differ between two tables of the same base."""
        return {*self.delta, *other.delta, *self.main.keys_apart(other.main)}

    def updated(self, changes: Mapping[str, Change]) -> Table:
        """Make a table with changed rows; the cost is proportional to the number of changes."""
        delta, turns, count = dict(self.delta), self.turns, self.count
        for key, (row, behind) in changes.items():
            entry = self.delta.get(key) or self.main.entries.get(key)
            before = self.base.rows.get(key) if entry is None else entry[1]
            count += (row is not None) - (before is not None)
            if row is None:
                delta[key] = (0, None)
            elif behind:
                turns += 1
                delta[key] = (turns, row)
            else:
                delta[key] = (0 if entry is None else entry[0], row)
        if len(delta) > 8 + isqrt(len(self.main.entries)) // 4:
            return Table(self.base, self.main.merged(delta, self.base.rows), {}, turns, count)
        return Table(self.base, self.main, delta, turns, count)
