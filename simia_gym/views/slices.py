"""Slices: the part of the state that a call may read; a model that simulates the call sees only this part.

A tool's ``reads`` are compiled once. The cost of a slice depends on its own size, not on the size of the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any, TypeAlias

from simia_gym.common.dotted_names import load_function
from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.errors import Fault
from simia_gym.state import State, make_pointer
from simia_gym.state.pointer import pointer_parts, resolve
from simia_gym.types import JsonObject, Op, Row, ToolCall
from simia_gym.views.placeholders import STAR, Context, Step, Template, as_text
from simia_gym.views.row_search import Search
from simia_gym.views.selectors import Path, Selector, parse_selector

Tables: TypeAlias = dict[str, dict[str, Row]]
CUT_OFF = "cut_off"
"""The error code by which a model says that its answer depends on what was cut off."""
View: TypeAlias = Callable[[State, ToolCall], Mapping[str, Row]]


class Slice:
    """The rows that a call may read; immutable.

    Attributes:
        tables: Rows by table and key, in the order of the selectors; read-only.
        missing: Pointers of rows that were selected by key but do not exist.
        cut: Pointers of the texts of which only the beginning is shown, with the lengths of the whole texts.
        encoded: `value` as canonical JSON.
    """

    def __init__(self, tables: Tables, missing: tuple[str, ...], cut: Mapping[str, int]) -> None:
        self.tables, self.missing, self.cut = tables, missing, cut
        self.encoded = encode(self.value)

    @property
    def value(self) -> JsonObject:
        """The slice as one JSON object ``{"tables", "missing"}``, and ``cut`` if a text is cut off."""
        value: JsonObject = {"tables": self.tables, "missing": list(self.missing)}
        return {**value, "cut": self.cut} if self.cut else value

    @property
    def size(self) -> int:
        """Length of `encoded`, in bytes."""
        return len(self.encoded)

    @cached_property
    def hash(self) -> str:
        """Content hash, 16 hex digits."""
        return hash_of(self.encoded)[:16]

    def cut_by(self, op: Op) -> str | None:
        """The pointer of a cut text that an operation overwrites or copies, if there is one; it may be removed."""
        if op["op"] not in ("add", "replace"):
            return None
        value = encode(op.get("value"))
        for pointer in self.cut:
            table, key, *inner = pointer_parts(pointer)
            copied = encode(resolve(self.tables[table][key], inner))[1:-1] in value
            if copied or f"{pointer}/".startswith(f"{op['path']}/"):
                return pointer
        return None

    def state(self) -> State:
        """A state that holds the slice and nothing else."""
        return State.from_tables(self.tables)


class Slicer:
    """Computes the slice of a call; made by `compile_reads`."""

    def __init__(self, selectors: Iterable[Selector], views: Mapping[str, View], where: str, cap: int) -> None:
        self.selectors, self.where, self.cap = tuple(selectors), where, cap
        self._views = views
        self._searches = [(each, Search(each.table, each.where)) for each in self.selectors]

    def __call__(self, state: State, call: ToolCall) -> Slice:
        """Compute the slice of a call in the state before it; the arguments are valid.

        Raises:
            Fault: ``slice_too_large``, or ``bug`` if a view raised an exception.
        """
        context = Context(state, call)
        tables: Tables = {}
        missing: dict[str, None] = {}
        cut: dict[tuple[str, ...], int] = {}
        for selector, search in self._searches:
            rows = tables.setdefault(selector.table, {})
            for key, row in self._selected(selector, search, context, missing):
                seen = _pick_columns(row, selector.columns, context) if selector.columns else row
                if selector.cut is not None:
                    seen = _cut(seen, selector.cut, (selector.table, key), cut)
                known = rows.get(key)
                rows[key] = seen if known is None else row if known is row else _merge(known, seen)
        # A text that another selector shows whole is not cut off.
        left = {path: size for path, size in cut.items() if len(resolve(tables[path[0]][path[1]], path[2:])) < size}
        made = Slice(tables, tuple(missing), {make_pointer(*path): size for path, size in left.items()})
        if len(made.encoded) > self.cap:
            message = f"{self.where}: the slice has {made.size} bytes, {self.cap} are allowed; narrow its reads"
            raise Fault("slice_too_large", message, role="simulator")
        return made

    def _selected(
        self, selector: Selector, search: Search, context: Context, missing: dict[str, None]
    ) -> Iterable[tuple[str, Row]]:
        """The rows of one selector with their keys; the pointers of missing rows go to ``missing``."""
        if selector.view is not None:
            try:
                made = dict(self._views[selector.view](context.state, context.call))
            except Fault:
                raise
            except Exception as error:
                message = f"{self.where}: the view {selector.view} raised {type(error).__name__}: {error}"
                raise Fault("bug", message, role="simulator") from error
            context.computed.setdefault(selector.table, {}).update(made)
            return made.items()
        if selector.key is None:
            return search.find(context)
        found: list[tuple[str, Row]] = []
        for key in selector.key.values(context):
            row = context.state.get(selector.table, key) if isinstance(key, str) else None
            if row is not None and search.meets(row, context):
                found.append((key, row))
            elif row is None and isinstance(key, str):
                missing[make_pointer(selector.table, key)] = None
        return found

    def problems(self, tables: Iterable[str], arguments: Iterable[str]) -> Iterator[str]:
        """Find names in the selectors that are not among the state's tables or the tool's parameters.

        Yields:
            One sentence per mistake, with the selector.
        """
        known = {*tables, *(each.table for each in self.selectors if each.view is not None)}
        parameters = set(arguments)
        for each in self.selectors:
            for name in dict.fromkeys(each.tables()):
                if name not in known:
                    yield f"selector {each.source!r} names the table {name!r}, which does not exist"
            for name in dict.fromkeys(each.arguments()):
                if name not in parameters:
                    yield f"selector {each.source!r} names the argument {name!r}, which the tool does not have"


def compile_reads(reads: Iterable[Any], where: str, *, folder: FilePath | None = None, cap: int = 60_000) -> Slicer:
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
            views[each.view] = load_function(each.view, folder=folder, where=f"{where}, reads {each.source}")
    return Slicer(selectors, views, where, cap)


def _pick_columns(row: Row, columns: tuple[Path, ...], context: Context) -> Row:
    """The included part of a row."""
    picked: dict[str, Any] = {}
    for path in columns:
        picked = _merge(picked, _pick(row, path, context))
    return picked


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


def _cut(value: Any, most: int, path: tuple[str, ...], cut: dict[tuple[str, ...], int]) -> Any:
    """The value with its texts cut off after so many characters; their places and whole lengths go to ``cut``."""
    if isinstance(value, str) and len(value) > most:
        cut[path] = len(value)
        return value[:most]
    if isinstance(value, dict):
        return {name: _cut(item, most, (*path, name), cut) for name, item in value.items()}
    if isinstance(value, list):
        return [_cut(item, most, (*path, str(place)), cut) for place, item in enumerate(value)]
    return value


def _merge(one: Any, other: Any) -> Any:
    """Merge two parts of the same value."""
    if isinstance(one, dict) and isinstance(other, dict):
        both = dict(one)
        for name, item in other.items():
            both[name] = _merge(both[name], item) if name in both else item
        return both
    if isinstance(one, str) and isinstance(other, str) and len(one) > len(other):
        return one  # the other is cut off
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [_merge(a, b) for a, b in zip(one, other, strict=True)]
    return other
