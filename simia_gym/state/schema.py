"""The state schema, ``state.schema.json``: rules that a domain's state must meet.

    {"tables": {
        "loans": {
          "open": false,                                     # whether missing rows may be revealed later
          "goal": true,                                      # whether goals and comparisons count its rows
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
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)

from simia_gym.common.dotted_names import load_function
from simia_gym.common.files import Lines, read_json
from simia_gym.common.schema_errors import json_schema_validator
from simia_gym.common.validation import StrictModel, Where, validated
from simia_gym.errors import DomainError, InputError, PatchError, did_you_mean
from simia_gym.state import State, make_pointer, pointer_parts
from simia_gym.types import JsonObject, Row

Operator: TypeAlias = Literal["==", "!=", "<=", ">=", "<", ">"]
_COMPARE: Mapping[Operator, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
Steps: TypeAlias = tuple[str, ...]


def _path(pointer: Any) -> Steps:
    """The steps of a JSON Pointer."""
    if not isinstance(pointer, str) or not pointer.startswith("/"):
        raise ValueError("this is no JSON Pointer, which starts with '/'")
    try:
        return pointer_parts(pointer)
    except PatchError as error:
        raise ValueError(error.message) from error


def _key(name: Any) -> Steps:
    return _path(make_pointer(name) if isinstance(name, str) and "/" not in name else name)


def _right(value: Any) -> Any:
    """The right side of a comparison; a pointer becomes a tuple, which no JSON value is."""
    return _path(value) if isinstance(value, str) and value.startswith("/") else value


def _function(name: Any, info: ValidationInfo) -> Any:
    """The function of a name, relative to the folder in the context."""
    assert info.context is not None
    try:
        return load_function(name, folder=info.context["folder"])
    except InputError as error:
        raise ValueError(str(error)) from error


Pointer: TypeAlias = Annotated[Steps, BeforeValidator(_path, json_schema_input_type=str)]


class TableSchema(StrictModel):
    """The rules for the rows of one table.

    Attributes:
        open: Whether a simulator may reveal missing rows.
        goal: Whether goals and comparisons count its rows; false for a working directory, an open page.
        key: Path of the row's own key in the row.
        row: Validator of a row, a `jsonschema_rs.Validator`.
        foreign_keys: Paths of values, each with the table of which they are keys.
    """

    description: Any = None
    open: bool = Field(False, strict=True)
    goal: bool = Field(True, strict=True)
    key: Annotated[Steps | None, BeforeValidator(_key, json_schema_input_type=str | None)] = None
    row: Annotated[Any, BeforeValidator(json_schema_validator, json_schema_input_type=dict[str, Any] | None)] = None
    foreign_keys: dict[Pointer, str] = Field({}, description='An object such as {"/field": "table"}.')
    _shape: JsonObject | None = PrivateAttr(None)

    @model_validator(mode="wrap")
    @classmethod
    def _keep(cls, value: Any, made_of: ModelWrapValidatorHandler[TableSchema]) -> TableSchema:
        made = made_of(value)
        if isinstance(value, Mapping):
            made._shape = value.get("row")
        return made

    @property
    def shape(self) -> JsonObject | None:
        """The JSON Schema of a row, as it is written."""
        return self._shape


class Invariant(BaseModel):
    """A rule that must always hold: a comparison inside each row of a table, or a function.

    Attributes:
        id: Name of the rule.
        table: The table whose rows are compared; ``None`` for a function.
        left: Path of a value in the row.
        op: How it is compared.
        right: Path of another value, as a tuple, or a plain value.
        check: Describes the mistakes in the given rows of a state.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    table: str | None = None
    left: Pointer = ()
    op: Operator = "=="
    right: Annotated[Any, BeforeValidator(_right)] = None
    check: Annotated[Any, BeforeValidator(_function, json_schema_input_type=str | None)] = None

    @model_validator(mode="after")
    def _whole(self) -> Invariant:
        missing = {"table", "left", "op", "right"} - self.model_fields_set
        if self.table is None:
            missing.add("table")
        if self.check is None and missing:
            raise ValueError(f"lacks {', '.join(sorted(missing))}, or a check")
        return self

    def mistake(self, row: Row) -> str | None:
        """What is wrong with a row, if anything."""
        a = _first(row, self.left)
        b = _first(row, self.right) if isinstance(self.right, tuple) else self.right
        try:
            holds = _COMPARE[self.op](a, b)
        except TypeError:
            holds = False
        return None if holds else f"{make_pointer(*self.left)} is {a!r}, which is not {self.op} {b!r}"


class StateSchema(BaseModel):
    """The rules of a domain's state.

    Attributes:
        tables: Table name to its rules.
        invariants: The rules that must always hold.
    """

    model_config = ConfigDict(frozen=True)

    tables: dict[str, TableSchema]
    invariants: tuple[Invariant, ...] = ()

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
        for path, target in rules.foreign_keys.items():
            for place, value in _places(row, path):
                if value is not None and not (isinstance(value, str) and state.has(target, value)):
                    yield f"{make_pointer(table, key, *place)}: {value!r} is no key of table {target!r}"
        for invariant in self.invariants:
            if invariant.table == table and invariant.check is None:
                wrong = invariant.mistake(row)
                if wrong is not None:
                    yield f"{make_pointer(table, key)}: invariant {invariant.id!r} is broken: {wrong}"


def read_state_schema(path: Path) -> StateSchema:
    """Read ``state.schema.json``.

    Args:
        path: The file; function names in it are relative to its folder.

    Raises:
        DomainError: The file has mistakes; ``problems`` holds one error per mistake.
    """
    return state_schema_of(read_json(path, what="state schema"), Lines(path).where, path.parent)


def state_schema_of(value: Any, where: Where, folder: Path) -> StateSchema:
    """Read the content of a ``state.schema.json``.

    Args:
        value: The content.
        where: The place of a part of it, for errors.
        folder: Function names in it are relative to this folder.

    Raises:
        DomainError: It has mistakes; ``problems`` holds one error per mistake.
    """
    schema = validated(StateSchema, value, where=where, context={"folder": folder})
    named: dict[tuple[str | int, ...], str | None] = {
        ("tables", name, "foreign_keys", make_pointer(*steps)): target
        for name, table in schema.tables.items()
        for steps, target in table.foreign_keys.items()
    }
    named |= {("invariants", number): one.table for number, one in enumerate(schema.invariants)}
    problems = [
        DomainError(
            f"there is no table {target!r}",
            where=where(place),
            fix=f"{did_you_mean(target, schema.tables)}Name one of 'tables'.",
        )
        for place, target in named.items()
        if target is not None and target not in schema.tables
    ]
    if problems:
        raise DomainError.of(problems)
    first: dict[str, int] = {}
    for number, one in enumerate(schema.invariants):
        if first.setdefault(one.id, number) != number:
            place, fix = where(("invariants", number)), "Give every invariant its own id."
            problems.append(DomainError(f"invariant {first[one.id]} has the id {one.id!r} too", where=place, fix=fix))
    if problems:
        raise DomainError.of(problems)
    return schema


def values_at(value: Any, path: Sequence[str]) -> list[Any]:
    """All values at a path in which ``*`` stands for every member."""
    return [found for _, found in _places(value, path)]


def _first(value: Any, path: Sequence[str]) -> Any:
    """The first value at a path, or ``None``."""
    found = _places(value, path)
    return found[0][1] if found else None


def _places(value: Any, path: Sequence[str]) -> list[tuple[tuple[str, ...], Any]]:
    """All values at a path, each with its actual path."""
    places: list[tuple[tuple[str, ...], Any]] = [((), value)]
    for step in path:
        below: list[tuple[tuple[str, ...], Any]] = []
        for place, each in places:
            if isinstance(each, dict) and step != "*":
                if step in each:
                    below.append(((*place, step), each[step]))
            elif isinstance(each, dict | list):
                pairs = each.items() if isinstance(each, dict) else enumerate(each)
                below += [((*place, str(name)), item) for name, item in pairs if step in ("*", str(name))]
        places = below
    return places
