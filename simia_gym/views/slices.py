"""Slices: the part of the state that a call may read; a model that simulates the call sees only this part.

A tool's ``reads`` are compiled once. The cost of a slice depends on its own size, not on the size of the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple, TypeAlias, cast

from simia_gym.common.dotted_names import load_object
from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.errors import Fault, InputError
from simia_gym.state import State, make_pointer
from simia_gym.types import JsonObject, Row, ToolCall
from simia_gym.views.placeholders import STAR, Context, Step, Template, argument_of, as_text
from simia_gym.views.row_search import Search
from simia_gym.views.selectors import Path, Selector, parse_selector

CAP = 60_000
"""Default maximum size of a slice's JSON, in bytes."""
_KEPT = 256
"""Maximum number of single-row slices that a tool's cache holds."""

Tables: TypeAlias = dict[str, dict[str, Row]]
View: TypeAlias = Callable[[State, ToolCall], Mapping[str, Row]]


class Slice:
    """The rows that a call may read; immutable.

    Attributes:
        tables: Rows by table and key, in the order of the selectors; read-only.
        missing: Pointers of rows that were selected by key but do not exist.
        encoded: `value` as canonical JSON.
    """

    __slots__ = ("_hash", "encoded", "missing", "tables")

    def __init__(self, tables: Tables, missing: tuple[str, ...]) -> None:
        self.tables, self.missing = tables, missing
        self.encoded = encode(self.value)
        self._hash = ""

    @property
    def value(self) -> JsonObject:
        """The slice as one JSON object ``{"tables", "missing"}``."""
        return {"tables": self.tables, "missing": list(self.missing)}

    @property
    def size(self) -> int:
        """Length of `encoded`, in bytes."""
        return len(self.encoded)

    @property
    def hash(self) -> str:
        """Content hash, 16 hex digits."""
        if not self._hash:
            self._hash = hash_of(self.encoded)[:16]
        return self._hash

    def state(self) -> State:
        """A state that holds the slice and nothing else."""
        return State.from_tables(self.tables)


class Slicer:
    """Computes the slice of a call.

    Args:
        selectors: The selectors of the tool's ``reads``.
        views: The functions of computed tables, by name.
        where: The tool, for error messages.
        cap: Maximum size of a slice's JSON, in bytes.
    """

    def __init__(self, selectors: Iterable[Selector], views: Mapping[str, View], where: str, cap: int = CAP) -> None:
        self.selectors, self.where, self.cap = tuple(selectors), where, cap
        self._steps = [(each, _filler(each, views, where)) for each in self.selectors]
        self._argument = _whole_row_of(self.selectors)
        self._kept: dict[int, tuple[Row, str, Slice]] = {}

    def __call__(self, state: State, call: ToolCall) -> Slice:
        """Compute the slice of a call.

        Args:
            state: The state before the call.
            call: The call; its arguments are valid.

        Returns:
            The slice.

        Raises:
            Fault: ``slice_too_large``, or ``bug`` if a view raised an exception.
        """
        if self._argument is None:
            return self._taken(state, call)
        name = call.arguments.get(self._argument)
        if type(name) is not str:
            return self._taken(state, call)
        row = state.get(self.selectors[0].table, name)
        if row is None:
            return self._taken(state, call)
        # Episodes share the rows of the initial state, and most rows never change.
        known = self._kept.get(id(row))
        if known is not None and known[0] is row and known[1] == name:
            return known[2]
        made = self._taken(state, call)
        if len(self._kept) >= _KEPT:
            self._kept.clear()
        self._kept[id(row)] = row, name, made
        return made

    def _taken(self, state: State, call: ToolCall) -> Slice:
        context = Context(state, call)
        tables: Tables = {}
        missing: dict[str, None] = {}
        for selector, fill in self._steps:
            rows = tables.get(selector.table)
            if rows is None:
                rows = tables[selector.table] = {}
            fill(rows, missing, context)
        made = Slice(tables, tuple(missing))
        if len(made.encoded) > self.cap:
            message = f"{self.where}: the slice has {made.size} bytes, {self.cap} are allowed; narrow its reads"
            raise Fault("slice_too_large", message, role="simulator")
        return made

    def problems(self, tables: Iterable[str] | None = None, arguments: Iterable[str] | None = None) -> Iterator[str]:
        """Find names in the selectors that do not exist.

        Args:
            tables: Names of the state's tables; ``None`` skips this check.
            arguments: Names of the tool's parameters; ``None`` skips this check.

        Yields:
            One sentence per mistake, with the selector.
        """
        views = {each.table for each in self.selectors if each.view is not None}
        known_tables = None if tables is None else {*tables, *views}
        known_arguments = None if arguments is None else set(arguments)
        for each in self.selectors:
            for name in dict.fromkeys(each.tables()):
                if known_tables is not None and name not in known_tables:
                    yield f"selector {each.source!r} names the table {name!r}, which does not exist"
            for name in dict.fromkeys(each.arguments()):
                if known_arguments is not None and name not in known_arguments:
                    yield f"selector {each.source!r} names the argument {name!r}, which the tool does not have"


def compile_reads(reads: Iterable[Any], where: str, *, folder: FilePath | None = None, cap: int = CAP) -> Slicer:
    """Make a slicer from a tool's ``reads``.

    Args:
        reads: Selectors, see `simia_gym.views.selectors`.
        where: The tool, for error messages.
        folder: The folder of ``file.py`` in the names of views.
        cap: Maximum size of a slice's JSON, in bytes.

    Returns:
        The slicer.

    Raises:
        InputError: A selector is invalid, or its view cannot be loaded.
    """
    selectors = [parse_selector(each, where) for each in reads]
    views: dict[str, View] = {}
    for each in selectors:
        if each.view is not None:
            function = load_object(each.view, folder=folder, where=f"{where}, reads {each.source}")
            if not callable(function):
                fix = "Name a function of state and call."
                raise InputError(f"{each.view!r} is not a function", where=where, fix=fix)
            views[each.view] = cast(View, function)
    return Slicer(selectors, views, where, cap)


_Fill: TypeAlias = Callable[[dict[str, Row], dict[str, None], Context], None]


def _whole_row_of(selectors: tuple[Selector, ...]) -> str | None:
    """The argument that is the key of a slice's only row, if a slice is one whole row; else ``None``.

    Such a slice depends on that row only, so it can be cached by the row.
    """
    if len(selectors) != 1:
        return None
    only = selectors[0]
    if only.view is not None or only.columns or only.where or only.key is None:
        return None
    return argument_of(only.key)


def _filler(selector: Selector, views: Mapping[str, View], where: str) -> _Fill:
    """Make the function that adds a selector's rows to a table of the slice."""
    table, columns = selector.table, _Columns.of(selector.columns)
    if selector.view is not None:
        return _view_filler(selector, views[selector.view], where)
    search = Search(table, selector.where)
    key, conditions = selector.key, selector.where
    if key is None:

        def fill_found(rows: dict[str, Row], missing: dict[str, None], context: Context) -> None:
            for name, row in search.find(context):
                _put(rows, name, row, columns, context)

        return fill_found
    argument = argument_of(key)

    def fill_keys(rows: dict[str, Row], missing: dict[str, None], context: Context) -> None:
        given = None if argument is None else context.call.arguments.get(argument)
        for name in (given,) if type(given) is str else key.values(context):
            if not isinstance(name, str):
                continue
            row = context.state.get(table, name)
            if row is None:
                missing[make_pointer(table, name)] = None
            elif not conditions or search.meets(row, context):
                _put(rows, name, row, columns, context)

    return fill_keys


def _view_filler(selector: Selector, view: View, where: str) -> _Fill:
    def fill_view(rows: dict[str, Row], missing: dict[str, None], context: Context) -> None:
        try:
            made = dict(view(context.state, context.call))
        except Fault:
            raise
        except Exception as error:
            message = f"{where}: the view {selector.view} raised {type(error).__name__}: {error}"
            raise Fault("bug", message, role="simulator") from error
        context.computed.setdefault(selector.table, {}).update(made)
        for name, row in made.items():
            rows[name] = row if name not in rows else _merge(rows[name], row)

    return fill_view


class _Columns(NamedTuple):
    """The columns of a selector, split for speed.

    Attributes:
        names: Fields of a row.
        paths: Longer paths, and paths with placeholders.
    """

    names: tuple[str, ...]
    paths: tuple[Path, ...]

    @classmethod
    def of(cls, columns: tuple[Path, ...]) -> _Columns | None:
        """``None`` if whole rows are included."""
        if not columns:
            return None
        plain = [path[0] for path in columns if len(path) == 1 and path[0] != STAR]
        names = tuple(step for step in plain if isinstance(step, str))
        return cls(names, tuple(path for path in columns if len(path) > 1 or path[0] not in names))

    def of_row(self, row: Row, context: Context) -> Row:
        """The included part of a row."""
        picked: dict[str, Any] = {name: row[name] for name in self.names if name in row}
        for path in self.paths:
            part = _pick(row, path, context)
            if picked.keys().isdisjoint(part):
                picked.update(part)
            else:
                picked = _merge(picked, part)
        return picked


def _put(rows: dict[str, Row], key: str, row: Row, columns: _Columns | None, context: Context) -> None:
    seen = row if columns is None else columns.of_row(row, context)
    known = rows.get(key)
    rows[key] = seen if known is None else row if known is row else _merge(known, seen)


def _pick(value: Any, path: tuple[Step, ...], context: Context) -> Any:
    """The part of a value at a path, inside the objects that lead to it, without their other members."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        # A list keeps all its elements, so that indices stay the same.
        return [_pick(item, rest, context) for item in value] if step == STAR else value
    if not isinstance(value, dict):
        return value
    if step == STAR:
        return {name: _pick(item, rest, context) for name, item in value.items()}
    names = [as_text(each) for each in step.values(context)] if isinstance(step, Template) else [step]
    return {name: _pick(value[name], rest, context) for name in names if name in value}


def _merge(one: Any, other: Any) -> Any:
    """Merge two parts of the same value."""
    if isinstance(one, dict) and isinstance(other, dict):
        both = dict(one)
        for name, item in other.items():
            both[name] = _merge(both[name], item) if name in both else item
        return both
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [_merge(a, b) for a, b in zip(one, other, strict=True)]
    return other
