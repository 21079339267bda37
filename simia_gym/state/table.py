"""An immutable table of a state: a base that related states share, and the changed rows.

An entry is a row (None if removed) and its position: 0 for its position in the base, else its number among the added
rows, from 1. A commit copies the dictionary of entries, so its cost depends on the changed rows and not on the base.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from simia_gym.state.frozen import FrozenDict, freeze
from simia_gym.types import Row

IndexFn: TypeAlias = Callable[[str, Row], Hashable | None]
Entry: TypeAlias = tuple[int, FrozenDict | None]
#: A new row (a dict, which is frozen once it is committed; None: removed), and whether it goes after all others, as an
#: added row does.
Change: TypeAlias = tuple[Any, bool]


class BaseTable:
    """The initial rows of a table, with caches that depend on these rows only.

    Attributes:
        rows: The frozen rows by key.
    """

    __slots__ = ("_indexes", "_places", "rows")

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self.rows: FrozenDict = freeze(rows)
        self._indexes: dict[Hashable, dict[Hashable, list[str]]] = {}
        self._places: dict[str, int] = {}

    def __reduce__(self) -> tuple[object, ...]:
        # Indexes are not pickled; they are rebuilt on demand.
        return BaseTable, (self.rows,)

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
            for key, row in self.rows.items():
                for value in dict.fromkeys(values(key, row)):
                    index.setdefault(value, []).append(key)
            self._indexes[name] = index  # only now that it is whole: `values` may raise, and threads share it
        return index

    def place(self, key: str) -> int:
        """Position of a row among all rows of the base."""
        if not self._places:
            self._places = {each: place for place, each in enumerate(self.rows)}
        return self._places[key]


class Table:
    """An immutable table.

    Attributes:
        base: The initial rows.
        entries: The entries of the changed rows by key, in no particular order.
        turns: Number of rows that have ever been added.
        count: Current number of rows.
    """

    __slots__ = ("base", "count", "entries", "turns")

    def __init__(self, base: BaseTable, entries: dict[str, Entry], turns: int, count: int) -> None:
        self.base, self.entries, self.turns, self.count = base, entries, turns, count

    @classmethod
    def of(cls, rows: Mapping[str, Row]) -> Table:
        """Make a table without changes."""
        return cls(BaseTable(rows), {}, 0, len(rows))

    def get(self, key: str) -> FrozenDict | None:
        """The current row, or None."""
        entry = self.entries.get(key)
        return self.base.rows.get(key) if entry is None else entry[1]

    def place(self, key: str) -> tuple[int, int]:
        """A sort key that gives the order of `rows`."""
        turn = self.entries[key][0] if key in self.entries else 0
        return (turn, 0) if turn else (0, self.base.place(key))

    def rows(self) -> Iterator[tuple[str, FrozenDict]]:
        """Rows of the base in their order, then added rows in the order of addition."""
        entries = self.entries
        if not entries:
            yield from self.base.rows.items()
            return
        for key, row in self.base.rows.items():
            entry = entries.get(key)
            if entry is None:
                yield key, row
            elif entry[0] == 0 and entry[1] is not None:
                yield key, entry[1]
        added = [(turn, key, row) for key, (turn, row) in entries.items() if turn and row is not None]
        for _, key, row in sorted(added, key=lambda item: item[0]):
            yield key, row

    def find(self, name: str, fn: IndexFn, value: Hashable, pending: Mapping[str, Change]) -> list[str]:
        """Keys of the rows that have a computed value, in row order.

        The base is looked up in an index; the changed rows are gone through.

        Args:
            name: The index's name.
            fn: Computes a row's value from its key and the row; None omits the row.
            value: The value.
            pending: The changes of a draft of this table.
        """
        if value is None:
            return []
        entries = self.entries

        def values(key: str, row: Row) -> tuple[Hashable, ...]:
            return () if (found := fn(key, row)) is None else (found,)

        found = self.base.index(name, values).get(value, ())
        if not entries and not pending:
            return list(found)
        keys = [key for key in found if key not in entries and key not in pending]
        changed: list[str] = []
        behind: list[str] = []
        for key, (_, row) in entries.items():
            if row is not None and key not in pending and fn(key, row) == value:
                changed.append(key)
        for key, (new, goes_behind) in pending.items():
            if new is not None and fn(key, new) == value:
                (behind if goes_behind else changed).append(key)
        if changed:
            keys = sorted((*keys, *changed), key=self.place)
        return keys + behind

    def updated(self, changes: Mapping[str, Change]) -> Table:
        """Make a table with changed rows, which are frozen."""
        entries, turns, count = dict(self.entries), self.turns, self.count
        for key, (row, behind) in changes.items():
            entry = entries.get(key)
            before = self.base.rows.get(key) if entry is None else entry[1]
            count += (row is not None) - (before is not None)
            if row is None:
                entries[key] = (0, None)
            elif behind:
                turns += 1
                entries[key] = (turns, row)
            else:
                entries[key] = (0 if entry is None else entry[0], row)
        return Table(self.base, entries, turns, count)
