"""Secondary indexes: find rows by a computed value, at a cost independent of the size of the table.

Each layer of a table has its own index; a lookup queries all layers, and newer layers override older ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from simia_gym.state.table import IndexFn, Table
from simia_gym.types import Row

#: The changed rows of one table of a draft: the row (None: removed), and whether it goes after all others.
Pending = Mapping[str, tuple[Row | None, bool]]


class IndexView(Mapping[Hashable, tuple[str, ...]]):
    """Mapping from a computed value to the keys of the rows that have it, in row order.

    Args:
        table: The committed table; None if it does not exist yet.
        name: The index's name in the table's caches.
        fn: Computes a row's value from its key and the row; None omits the row.
        pending: The draft's changed rows.
    """

    __slots__ = ("_fn", "_name", "_pending", "_table")

    def __init__(self, table: Table | None, name: str, fn: IndexFn, pending: Pending) -> None:
        self._table = Table.of({}) if table is None else table
        self._name, self._fn, self._pending = name, fn, pending

    def find(self, value: Hashable) -> list[str]:
        """Keys of the rows that have a value, in row order; empty if there are none."""
        if value is None:
            return []
        table, fn, pending = self._table, self._fn, self._pending
        delta, entries = table.delta, table.main.entries
        found = table.base.index(self._name, fn).get(value, ())
        if not delta and not entries and not pending:
            return list(found)
        keys = [key for key in found if key not in entries and key not in delta and key not in pending]
        changed = [key for key in self._changed(value) if key not in pending]
        changed += [
            key for key, (row, behind) in pending.items() if row is not None and not behind and fn(key, row) == value
        ]
        if changed:
            keys = sorted((*keys, *changed), key=self._place)
        keys += [key for key, (row, behind) in pending.items() if row is not None and behind and fn(key, row) == value]
        return keys

    def _changed(self, value: Hashable) -> Iterator[str]:
        table, fn = self._table, self._fn
        if table.main.entries:
            for key in table.main.index(self._name, fn).get(value, ()):
                if key not in table.delta:
                    yield key
        for key, (_, row) in table.delta.items():
            if row is not None and fn(key, row) == value:
                yield key

    def _place(self, key: str) -> tuple[int, int]:
        entry = self._table.entry(key)
        turn = 0 if entry is None else entry[0]
        return (turn, 0) if turn else (0, self._table.base.place(key))

    def __getitem__(self, value: Hashable) -> tuple[str, ...]:
        keys = self.find(value)
        if not keys:
            raise KeyError(value)
        return tuple(keys)

    def __iter__(self) -> Iterator[Hashable]:
        seen: set[Hashable] = set()
        rows = ((key, row) for key, row in self._table.rows() if key not in self._pending)
        news = ((key, row) for key, (row, _) in self._pending.items() if row is not None)
        for source in (rows, news):
            for key, row in source:
                value = self._fn(key, row)
                if value is not None and value not in seen:
                    seen.add(value)
                    yield value

    def __len__(self) -> int:
        return sum(1 for _ in self)
