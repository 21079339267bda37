"""The state schema, ``state.schema.json``: rules that a domain's state must meet.

    {"tables": {
        "loans": {
          "open": false,                                     # whether missing rows may be revealed later
          "key": "loan_id",                                  # the field that equals the row's key
          "row": {"type": "object", ...},                    # JSON Schema of a row
          "foreign_keys": {"/book_id": "books", "/renewals/*/desk": "desks"}}},
     "invariants": [
        {"id": "shelf", "table": "books", "left": "/available", "op": "<=", "right": "/copies"},
        {"id": "dates", "check": "rules.py:dates"}]}         # function(state, touched) -> descriptions of mistakes

``key`` is a field, or a pointer to a nested value. A foreign key may be missing or null, unless ``row`` requires it.
``*`` stands for every element of a list or object. ``right`` is a pointer or a plain value. A function gets the state
and the rows to check, as pairs of table and key.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import jsonschema_rs

from simia_gym.common.dotted_names import load_object
from simia_gym.common.files import read_json
from simia_gym.common.schema_errors import schema_mistake, schema_problems
from simia_gym.errors import DomainError, InputError, PatchError
from simia_gym.state import State, make_pointer, pointer_parts
from simia_gym.types import Row

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
Check: TypeAlias = Callable[[State, Sequence[tuple[str, str]]], Iterable[str]]

_POINTER = {"type": "string", "pattern": "^/", "description": "a JSON Pointer, which starts with '/'"}
_FILE = {
    "type": "object",
    "required": ["tables"],
    "properties": {
        "tables": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "description": {},
                    "open": {"type": "boolean"},
                    "key": {"type": "string", "description": "a field or a JSON Pointer"},
                    "row": {},
                    "foreign_keys": {
                        "type": "object",
                        "propertyNames": _POINTER,
                        "additionalProperties": {"type": "string"},
                        "description": 'an object such as {"/field": "table"}',
                    },
                },
            },
        },
        "invariants": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id"],
                "properties": {"id": {"type": "string"}},
                "if": {"required": ["check"]},
                "else": {
                    "required": ["table", "left", "op", "right"],
                    "properties": {"left": _POINTER, "op": {"enum": [*_COMPARE]}},
                },
            },
        },
    },
}


@dataclass(frozen=True)
class Reference:
    """A foreign key: values at ``path`` are keys of ``table``."""

    path: tuple[str, ...]
    table: str

    def holds(self, state: State, value: Any) -> bool:
        """Whether a value is null or the key of an existing row."""
        return value is None or (isinstance(value, str) and state.has(self.table, value))

    def problems(self, state: State, row: Row, where: tuple[str, str]) -> Iterator[str]:
        """Describe the values of a row that refer to missing rows; ``where`` is the row's table and key."""
        for place, value in _places(row, self.path):
            if not self.holds(state, value):
                yield f"{make_pointer(*where, *place)}: {value!r} is no key of table {self.table!r}"


@dataclass(frozen=True)
class TableSchema:
    """The rules for the rows of one table.

    Attributes:
        open: Whether a simulator may reveal missing rows.
        key: Path of the row's own key in the row.
        row: Validator of a row.
        references: Its foreign keys.
    """

    open: bool
    key: tuple[str, ...] | None
    row: jsonschema_rs.Validator | None
    references: tuple[Reference, ...]


@dataclass(frozen=True)
class Invariant:
    """A rule that must always hold: a comparison inside each row of a table, or a function.

    Attributes:
        id: Name of the rule.
        table: The table whose rows are compared; ``None`` for a function.
        compare: Describes the mistake in a row, or returns ``None``.
        check: Describes the mistakes in the given rows of a state.
    """

    id: str
    table: str | None
    compare: Callable[[Row], str | None] | None = None
    check: Check | None = None


@dataclass(frozen=True)
class StateSchema:
    """The rules of a domain's state.

    Attributes:
        path: The file, for error messages.
        tables: Table name to its rules.
        invariants: The rules that must always hold.
    """

    path: Path
    tables: Mapping[str, TableSchema]
    invariants: tuple[Invariant, ...]

    @property
    def open_tables(self) -> frozenset[str]:
        """Tables in which a simulator may reveal rows."""
        return frozenset(name for name, table in self.tables.items() if table.open)

    def problems(self, state: State, rows: Iterable[tuple[str, str]] | None = None) -> Iterator[str]:
        """Find the mistakes in a state.

        Args:
            state: The state.
            rows: Table and key of the rows to check; by default, all rows. Tables whose name starts with ``_`` are not
                checked.

        Yields:
            One sentence per mistake, with its pointer.
        """
        chosen = [(t, k) for t in state.tables for k, _ in state.rows(t)] if rows is None else rows
        touched = [(table, key) for table, key in chosen if not table.startswith("_")]
        for table, key in touched:
            row = state.get(table, key)
            if row is not None:
                yield from self._row(state, table, key, row)
        for invariant in self.invariants:
            if invariant.check is not None:
                for text in invariant.check(state, touched):
                    yield f"invariant {invariant.id!r} is broken: {text}"

    def _row(self, state: State, table: str, key: str, row: Row) -> Iterator[str]:
        """Find the mistakes in a row; pointers are made only for mistakes, because most rows have none."""
        rules = self.tables.get(table)
        if rules is None:
            yield f"{make_pointer(table, key)}: the schema has no table {table!r}"
            return
        if rules.row is not None and not rules.row.is_valid(row):
            for error in rules.row.iter_errors(row):
                yield f"{make_pointer(table, key, *map(str, error.instance_path))}: {error.message}"
        if rules.key is not None and _first(row, rules.key) != key:
            yield f"{make_pointer(table, key, *rules.key)}: must be the row's key {key!r}"
        for reference in rules.references:
            for value in values_at(row, reference.path):
                if not reference.holds(state, value):
                    yield from reference.problems(state, row, (table, key))
                    break
        for invariant in self.invariants:
            if invariant.table == table and invariant.compare is not None:
                wrong = invariant.compare(row)
                if wrong is not None:
                    yield f"{make_pointer(table, key)}: invariant {invariant.id!r} is broken: {wrong}"


def read_state_schema(path: Path) -> StateSchema:
    """Read ``state.schema.json``.

    Args:
        path: The file; function names in it are relative to its folder.

    Raises:
        DomainError: The file has mistakes; ``problems`` holds one error per mistake.
    """
    value = read_json(path, what="state schema")
    problems: list[InputError] = [
        DomainError(one.message, where=f"{path}: {one.place}" if one.place else str(path), fix=one.fix)
        for one in schema_problems(_FILE, value)
    ]
    if problems:
        raise DomainError.of(problems)
    tables: dict[str, TableSchema] = {}
    for name, item in value["tables"].items():
        try:
            tables[name] = _table(item, f"{path}: tables.{name}", set(value["tables"]))
        except InputError as error:
            problems.append(error)
    invariants: list[Invariant] = []
    for index, item in enumerate(value.get("invariants", [])):
        try:
            invariants.append(_invariant(item, f"{path}: invariants[{index}]", set(value["tables"]), path.parent))
        except InputError as error:
            problems.append(error)
    if problems:
        raise DomainError.of(problems)
    return StateSchema(path, tables, tuple(invariants))


def _table(item: Any, where: str, names: set[str]) -> TableSchema:
    validator = None
    if "row" in item:
        try:
            validator = jsonschema_rs.validator_for(item["row"])
        except (ValueError, TypeError) as error:
            what = f"row is not a JSON Schema: {schema_mistake(item['row'], error)}"
            raise DomainError(what, where=where, fix="Mend it.") from error
    keys = item.get("foreign_keys", {})
    for target in keys.values():
        if target not in names:
            raise DomainError(f"a foreign key names the table {target!r}", where=where, fix="Name one of 'tables'.")
    references = [Reference(_parts(path, where), target) for path, target in keys.items()]
    own = item.get("key")
    if isinstance(own, str) and "/" not in own:
        own = make_pointer(own)
    key = None if own is None else _parts(own, where)
    return TableSchema(bool(item.get("open", False)), key, validator, tuple(references))


def _invariant(item: Any, where: str, names: set[str], folder: Path) -> Invariant:
    if "check" in item:
        function = load_object(item["check"], folder=folder, where=where)
        if not callable(function):
            raise DomainError(f"{item['check']!r} is not a function", where=where, fix="Name a function of the state.")
        return Invariant(item["id"], None, check=cast(Check, function))
    if item["table"] not in names:
        raise DomainError(f"names the table {item['table']!r}", where=where, fix="Name one of 'tables'.")
    return Invariant(item["id"], item["table"], compare=_comparison(item, where))


def _comparison(item: Mapping[str, Any], where: str) -> Callable[[Row], str | None]:
    left, right, name = _parts(item["left"], where), item["right"], item["op"]
    other = _parts(right, where) if isinstance(right, str) and right.startswith("/") else None

    def compare(row: Row) -> str | None:
        a = _first(row, left)
        b = right if other is None else _first(row, other)
        try:
            holds = _COMPARE[name](a, b)
        except TypeError:
            holds = False
        return None if holds else f"{item['left']} is {a!r}, which is not {name} {b!r}"

    return compare


def _parts(pointer: Any, where: str) -> tuple[str, ...]:
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        raise DomainError(f"{pointer!r} is no JSON Pointer", where=where, fix="Start it with '/'.")
    try:
        return pointer_parts(pointer)
    except PatchError as error:
        raise DomainError(error.message, where=where, fix="Mend the pointer.") from error


def values_at(value: Any, path: Sequence[str]) -> list[Any]:
    """All values at a path in which ``*`` stands for every member."""
    values = [value]
    for step in path:
        members: list[Any] = []
        for each in values:
            if isinstance(each, dict):
                if step == "*":
                    members += each.values()
                elif step in each:
                    members.append(each[step])
            elif isinstance(each, list):
                members += each if step == "*" else [item for i, item in enumerate(each) if step == str(i)]
        values = members
    return values


def _first(value: Any, path: Sequence[str]) -> Any:
    """The first value at a path, or ``None``."""
    found = values_at(value, path)
    return found[0] if found else None


def _places(value: Any, path: tuple[str, ...], place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All values at a path, each with its actual path."""
    if not path:
        yield place, value
        return
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        pairs: Iterable[tuple[str, Any]] = ((str(i), item) for i, item in enumerate(value))
    elif isinstance(value, dict):
        pairs = value.items()
    else:
        return
    for name, item in pairs:
        if step in ("*", name):
            yield from _places(item, rest, (*place, name))
