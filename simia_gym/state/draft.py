"""Drafts: the mutable view of a state that tools edit. A draft copies only the rows that are edited."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from simia_gym.errors import InputError
from simia_gym.state.diff import make_op, make_remove, reconcile
from simia_gym.state.frozen import FrozenDict, freeze, thaw
from simia_gym.state.table import Change, IndexFn, Table
from simia_gym.types import Op, Row

if TYPE_CHECKING:
    from simia_gym.state.state import State

_NOTHING: dict[str, Change] = {}


class Draft:
    """A view of a state in which rows can be changed.

    The state itself never changes, and a draft without `commit` has no effect. `commit` returns a new state and the
    operations that lead to it.

    Args:
        state: The state to start from.
    """

    __slots__ = ("_changes", "_state")

    def __init__(self, state: State) -> None:
        self._state = state
        # The changed rows by table and key: frozen if they were put, private copies if they are being edited.
        self._changes: dict[str, dict[str, Change]] = {}

    @property
    def state(self) -> State:
        """The state that the draft started from."""
        return self._state

    def get(self, table: str, key: str) -> FrozenDict | None:
        """Read the current row: read-only (a snapshot, if it is being edited), or None if it does not exist."""
        if self._changes:
            pending = self._changes.get(table, _NOTHING).get(key)
            if pending is not None:
                return None if pending[0] is None else cast(FrozenDict, freeze(pending[0]))
        return self._state.get(table, key)

    def row(self, table: str, key: str) -> FrozenDict:
        """Read a row that must exist.

        Raises:
            KeyError: There is no such row.
        """
        found = self.get(table, key)
        if found is None:
            raise _missing(table, key)
        return found

    def has(self, table: str, key: str) -> bool:
        """Whether the row exists now."""
        pending = self._changes.get(table, _NOTHING).get(key)
        return self._state.has(table, key) if pending is None else pending[0] is not None

    def rows(self, table: str) -> Iterator[tuple[str, FrozenDict]]:
        """The current rows of a table with their keys: the state's rows in their order, then added ones."""
        changes = self._changes.get(table)
        if not changes:
            yield from self._state.rows(table)
            return
        # A copy, so that rows can be edited, added or removed during the iteration.
        now = dict(changes)
        for key, row in self._state.rows(table):
            pending = now.get(key)
            if pending is None:
                yield key, row
            elif pending[0] is not None and not pending[1]:
                yield key, freeze(pending[0])
        for key, (new, behind) in now.items():
            if new is not None and behind:
                yield key, freeze(new)

    def keys(self, table: str) -> Iterator[str]:
        """The current keys of a table, in row order."""
        return (key for key, _ in self.rows(table))

    def count(self, table: str) -> int:
        """The current number of rows of a table."""
        total = self._state.count(table)
        for key, (row, _) in self._changes.get(table, _NOTHING).items():
            total += (row is not None) - self._state.has(table, key)
        return total

    def edit(self, table: str, key: str) -> dict[str, Any]:
        """Get a mutable copy of a row.

        Returns:
            A private copy, the same object at each call; `commit` takes over all changes that are made to it.

        Raises:
            KeyError: There is no such row.
        """
        changes = self._changes.setdefault(table, {})
        row, behind = changes.get(key) or (self._state.get(table, key), False)
        if row is None:
            raise _missing(table, key)
        if type(row) is FrozenDict:
            row = thaw(row)
            changes[key] = (row, behind)
        held: dict[str, Any] = row
        return held

    def put(self, table: str, key: str, row: Row) -> None:
        """Add a row, or replace a whole row.

        Args:
            table: The table's name.
            key: The row's key.
            row: The row; it is copied, so later changes to it have no effect (use `edit` for them).

        Raises:
            InputError: The row is not an object, or holds a value that is not JSON.
        """
        for what, given, kind in (("table", table, str), ("key", key, str), ("row", row, Mapping)):
            if not isinstance(given, kind):
                raise InputError(
                    f"the {what} {given!r:.60} is a {type(given).__name__}",
                    where=f"Draft.put({table!r}, {key!r}, ...)",
                    fix="Tables and keys are strings, rows are objects.",
                )
        self._put(table, key, freeze(row))

    def _put(self, table: str, key: str, row: FrozenDict) -> None:
        changes = self._changes.get(table)
        if changes is None:
            changes = self._changes[table] = {}
        pending = changes.get(key)
        before, behind = (self._state.get(table, key), False) if pending is None else pending
        if before is None:
            # A row that is added, also after its removal, goes after all other rows.
            changes.pop(key, None)
            behind = True
        changes[key] = (row, behind)

    def remove(self, table: str, key: str) -> None:
        """Remove a row.

        Raises:
            KeyError: There is no such row.
        """
        if not self.has(table, key):
            raise _missing(table, key)
        changes = self._changes.setdefault(table, {})
        changes.pop(key, None)
        if self._state.has(table, key):
            changes[key] = (None, False)

    def find(self, table: str, name: str, fn: IndexFn, value: Hashable) -> list[str]:
        """Look rows up by a value computed from them.

        The index over the initial rows is built once and shared by all states of the same origin. The cost of a lookup
        is proportional to the rows found and the rows that were changed since the initial state.

        Args:
            table: The table's name.
            name: Name of the index; the same name must always go with the same function.
            fn: Computes a row's value from its key and the row; None omits the row. Must be pure.
            value: The value that rows must have.

        Returns:
            The keys of the rows, in row order.
        """
        held = self._state.table(table) or Table.of({})
        return held.find(name, fn, value, self._changes.get(table, _NOTHING))

    def commit(self) -> tuple[State, tuple[Op, ...]]:
        """Make a new state with the draft's changes, and the operations that lead to it.

        The draft itself does not change. Rows that were edited without effect give no operation.

        Returns:
            The new state (the old one if nothing changed), and minimal operations; both read-only.

        Raises:
            InputError: An edited row holds a value that is not JSON.
        """
        if not self._changes:
            return self._state, ()
        ops: list[Op] = []
        changes: dict[str, dict[str, Change]] = {}
        for table, pending in self._changes.items():
            changed: dict[str, Change] = {}
            for key, (row, behind) in pending.items():
                path = (table, key)
                before = self._state.get(table, key)
                if row is None:
                    ops.append(make_remove(path))
                    changed[key] = (None, False)
                elif behind or before is None:
                    if before is not None:
                        ops.append(make_remove(path))
                    frozen = freeze(row)
                    ops.append(make_op("add", path, frozen))
                    changed[key] = (frozen, True)
                else:
                    after = reconcile(before, row, path, ops)
                    if after is not before:
                        changed[key] = (after, False)
            if changed:
                changes[table] = changed
        return self._state.updated(changes), tuple(ops)


def _missing(table: str, key: str) -> KeyError:
    return KeyError(f"no row {key!r} in table {table!r}")
