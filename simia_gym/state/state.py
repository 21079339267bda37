"""The immutable state of an episode: JSON tables of JSON rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from simia_gym.errors import InputError, PatchError
from simia_gym.state.draft import Draft
from simia_gym.state.equality import strict_equal
from simia_gym.state.frozen import FrozenDict, frozen_dict, thaw
from simia_gym.state.patch import ParsedOp, located, parse_op, short, write
from simia_gym.state.pointer import pointer_parts, resolve
from simia_gym.state.table import Change, Table
from simia_gym.types import Row


class State:
    """An immutable document ``{table: {key: row}}``.

    A change makes a new state, which shares all unchanged rows with the old one. Comparing two states of the same
    origin costs time proportional to the changed rows, not to the size of the tables.
    """

    __slots__ = ("_origin", "_tables")

    def __init__(self, tables: Mapping[str, Table], origin: Mapping[str, Table] | None = None) -> None:
        """Internal; call `State.from_tables`."""
        self._tables = tables
        self._origin = tables if origin is None else origin

    @classmethod
    def from_tables(cls, tables: Mapping[str, Mapping[str, Row]]) -> State:
        """Make a state from plain data (rows by table and key), which is copied and frozen once.

        Raises:
            InputError: A table or a row is not an object, or holds a value that is not JSON.
        """
        made: dict[str, Table] = {}
        for name, rows in tables.items():
            if not isinstance(name, str):
                raise InputError(f"table name {name!r} is no string", fix="Name tables by strings.")
            if not isinstance(rows, Mapping):
                raise InputError(f"table {name!r} is a {type(rows).__name__}", fix="A table is an object of rows.")
            for key, row in rows.items():
                if not isinstance(row, Mapping):
                    raise InputError(
                        f"row {key!r} is a {type(row).__name__}", where=f"table {name!r}", fix="A row is an object."
                    )
            try:
                made[name] = Table.of(rows)
            except InputError as error:
                raise InputError(error.what, where=f"table {name!r}, {error.where}", fix=error.fix) from None
        return cls(made)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables: the initial ones in their order, then new ones that have rows, sorted."""
        others = sorted(name for name, held in self._tables.items() if held.count and name not in self._origin)
        return (*self._origin, *others)

    def get(self, table: str, key: str) -> FrozenDict | None:
        """Read a row: read-only, or None if it does not exist."""
        held = self._tables.get(table)
        if held is None:
            return None
        for layer in held.layers:
            entry = layer.entries.get(key)
            if entry is not None:
                return entry[1]
        return held.base.rows.get(key)

    def has(self, table: str, key: str) -> bool:
        """Whether the row exists."""
        return self.get(table, key) is not None

    def rows(self, table: str) -> Iterator[tuple[str, FrozenDict]]:
        """The rows of a table with their keys: initial rows in their order, then added rows in order of addition."""
        held = self._tables.get(table)
        return iter(()) if held is None else held.rows()

    def keys(self, table: str) -> Iterator[str]:
        """The keys of a table, in row order."""
        return (key for key, _ in self.rows(table))

    def count(self, table: str) -> int:
        """The number of rows of a table; 0 if the table does not exist."""
        held = self._tables.get(table)
        return 0 if held is None else held.count

    def apply(self, ops: Iterable[Mapping[str, Any]]) -> State:
        """Apply JSON Patch operations, all or none.

        ``add``, ``replace`` and ``remove`` address a row (``/table/key``) or a value inside one; adding a row creates
        its table if necessary. ``test`` may address any value. If nothing is written, the state itself is returned.

        Raises:
            PatchError: An operation cannot be applied; the message has its index and path.
        """
        work = Patching(self)
        for number, op in enumerate(ops):
            try:
                work.run(parse_op(op))
            except PatchError as error:
                raise located(error, number, op) from None
        return work.done()

    def updated(self, changes: Mapping[str, Mapping[str, Change]]) -> State:
        """Make a state with changed rows, by table and key; this one if there are no changes."""
        held = self._tables
        new = {name: (held.get(name) or Table.of({})).updated(rows) for name, rows in changes.items() if rows}
        return State({**held, **new}, self._origin) if new else self

    def table(self, name: str) -> Table | None:
        """The `Table` object, for indexes; None if it does not exist."""
        return self._tables.get(name)

    def draft(self) -> Draft:
        """Start a draft, in which rows can be changed and then committed."""
        return Draft(self)

    def touched_since(self, base_state: State) -> list[tuple[str, str]]:
        """Find the rows that differ from another state of the same origin.

        Rows are compared by `strict_equal`, so a row that was changed and changed back is not listed. The cost is
        proportional to the number of changed rows.

        Args:
            base_state: An earlier state, or any other state that derives from the same `from_tables` call.

        Returns:
            Table and key of each row that was added, removed or changed, sorted.

        Raises:
            InputError: The two states have no common origin.
        """
        if base_state._origin is not self._origin:
            raise InputError(
                "the two states have no common origin",
                where="State.touched_since",
                fix="Compare with a state that this one was derived from.",
            )
        touched: list[tuple[str, str]] = []
        for name in {**self._tables, **base_state._tables}:
            mine, other = self._tables.get(name), base_state._tables.get(name)
            if mine is other:
                continue
            apart = {*(mine.layers if mine else ())} ^ {*(other.layers if other else ())}
            for key in {key for layer in apart for key in layer.entries}:
                new, old = self.get(name, key), base_state.get(name, key)
                if new is not old and not strict_equal(new, old):
                    touched.append((name, key))
        touched.sort()
        return touched

    def hash(self, tables: Iterable[str]) -> str:
        """A hash of what some tables hold, 64 hex digits.

        It depends on the rows with their keys and on nothing else: not on the order of rows, tables or keys, nor on how
        the state came about; an empty table is as none. Numbers count as they are written: ``1`` is not ``1.0``. After
        the first time, a changed state costs what its changed rows cost.

        Args:
            tables: Names of the tables.
        """
        held = {name: table for name in tables if (table := self._tables.get(name)) is not None and table.count}
        text = json.dumps([(name, held[name].hash()) for name in sorted(held)])
        return sha256(text.encode()).hexdigest()

    def at(self, pointer: str) -> Any:
        """Read the value at a JSON Pointer.

        Args:
            pointer: ``/table/key`` and deeper; reading a table or the whole document costs time proportional to its
                size.

        Raises:
            PatchError: The path does not exist.
        """
        try:
            return self._value_at(pointer_parts(pointer))
        except PatchError as error:
            raise PatchError(error.message, path=pointer) from None

    def _value_at(self, parts: tuple[str, ...]) -> Any:
        if not parts:
            return frozen_dict([{name: self._value_at((name,)) for name in self.tables}])
        if len(parts) == 1:
            if parts[0] not in self.tables:
                raise PatchError(f"no table {parts[0]!r}")
            return frozen_dict([dict(self.rows(parts[0]))])
        row = self.get(parts[0], parts[1])
        if row is None:
            raise PatchError(_no_row(parts))
        return resolve(row, parts[2:])

    def to_tables(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Copy the whole state into plain dictionaries and lists."""
        return {name: {key: thaw(row) for key, row in self.rows(name)} for name in self.tables}

    def __repr__(self) -> str:
        return f"State({', '.join(f'{name}: {self.count(name)} rows' for name in self.tables)})"


def _no_row(parts: tuple[str, ...]) -> str:
    return f"no row {parts[1]!r} in table {parts[0]!r}"


class Patching(Draft):
    """A draft that is changed by operations alone: it holds the rows written so far."""

    __slots__ = ()

    def run(self, op: ParsedOp) -> None:
        """Apply one operation.

        Raises:
            PatchError: The operation cannot be applied; it has no effect.
        """
        if op.name == "test":
            found = self.done().at(op.path)
            if not strict_equal(found, op.value):
                raise PatchError(f"test failed: expected {short(op.value)}, found {short(found)}")
            return
        if len(op.parts) < 2:
            raise PatchError(f"{op.name!r} must address a row ('/table/key') or a place inside one")
        table, key, *inner = op.parts
        row = self.get(table, key)
        if row is None and (inner or op.name != "add"):
            raise PatchError(_no_row(op.parts))
        if op.name == "remove" and not inner:
            self.remove(table, key)
            return
        new = write(row, inner, op.name, op.value)
        if not isinstance(new, FrozenDict):
            raise PatchError(f"a row is an object, not a {type(new).__name__}")
        self._put(table, key, new)

    def done(self) -> State:
        """The state with all written rows; the original one if nothing was written."""
        return self.state.updated(self._changes)
