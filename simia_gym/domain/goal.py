"""Checks goals: a state meets a goal if the goal's ``test`` operations hold and nothing else changed.

Only the rows that the goal names and the rows that were changed are compared, so the cost does not depend on the size
of the database. Tables whose name starts with ``_`` (the user's memory, a clock, counters) are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, TypeAlias

from simia_gym.errors import InputError, PatchError, did_you_mean
from simia_gym.state import State, make_pointer, pointer_parts, strict_equal, thaw
from simia_gym.state.pointer import covers, resolve
from simia_gym.types import Op

Parts: TypeAlias = tuple[str, ...]


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = _Missing()
"""Stands for a missing value."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between a final state and a goal.

    Attributes:
        path: JSON Pointer of the value.
        expected: The value that the goal requires; `MISSING` if there should be none.
        got: The actual value; `MISSING` if there is none.
        unexpected: True if the value changed although the goal does not test it.
    """

    path: str
    expected: Any
    got: Any
    unexpected: bool

    def describe(self) -> str:
        """One clause with the path, the expected and the actual value."""
        wanted = f"unchanged {_show(self.expected)}" if self.unexpected else _show(self.expected)
        return f"{self.path}: expected {wanted}, got {_show(self.got)}"


def _show(value: Any) -> str:
    if value is MISSING:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."


def goal_parts(path: str) -> Parts:
    """Decode the pointer of a goal's operation.

    Raises:
        InputError: The pointer is not inside a row.
    """
    parts = pointer_parts(path)
    if len(parts) < 2:
        raise InputError(f"the goal path {path!r} names no row", where="goal", fix="Write /table/key or deeper.")
    return parts


def check_goal(goal: Iterable[Any], tables: Collection[str] = ()) -> None:
    """Check that the operations form a goal, of the given tables if any are given.

    Raises:
        InputError: An operation is not a ``test``, has no value, or does not address a row of a table that there is.
    """
    for index, op in enumerate(goal):
        where = f"goal operation {index}"
        if not isinstance(op, Mapping) or op.get("op") != "test":
            raise InputError(f"{op!r} is not a test operation", where=where, fix='Write {"op": "test", ...}.')
        if not isinstance(op.get("path"), str) or "value" not in op:
            raise InputError(
                f"{op!r} lacks a path or a value", where=where, fix="Give both; null for a row to be gone."
            )
        try:
            table = goal_parts(op["path"])[0]
        except PatchError as error:
            fix = "Write a JSON Pointer, such as /table/key/field."
            raise InputError(f"{op['path']!r}: {error.message}", where=where, fix=fix) from error
        if table.startswith("_"):
            fix = "Leave it out: tables whose name starts with '_' are outside every goal."
            raise InputError(f"{op['path']!r} lies in a private table", where=where, fix=fix)
        if tables and table not in tables:
            fix = f"{did_you_mean(table, tables)}The domain's tables: {', '.join(sorted(tables))}."
            raise InputError(f"{op['path']!r} names no table", where=where, fix=fix)


def first_difference(
    goal: Sequence[Mapping[str, Any]],
    initial: State,
    final: State,
    *,
    tolerance: float = 0.0,
    ignore: Sequence[str] = (),
    only: bool = True,
) -> Difference | None:
    """Find the first difference between the final state and the goal.

    A value that must be absent is tested for ``None``. The goal covers a changed value if an operation tests this value
    or an object that contains it.

    Args:
        goal: ``test`` operations; if empty, nothing may have changed.
        initial: The initial state.
        final: The final state, derived from ``initial``.
        tolerance: Maximum difference between numbers that count as equal.
        ignore: Pointers of values that are not compared; ``*`` as in `simia_gym.state.pointer.covers`.
        only: Whether all values that the goal does not cover must be unchanged.

    Returns:
        The first difference, in the order of the goal and then of the changed rows; ``None`` if there is none.
    """
    skip = [pointer_parts(path) for path in ignore]
    covered: set[Parts] = set()
    for op in goal:
        parts = goal_parts(op["path"])
        covered.add(parts)
        if skip and any(covers(pattern, parts) for pattern in skip):
            continue
        got, expected = value_at(final, parts), op["value"]
        if expected is None:
            expected = MISSING
            if got is None:
                continue
        if not strict_equal(expected, got, tolerance):
            return Difference(op["path"], expected, got, False)
    if not only:
        return None
    for parts, was, now in changed_values(initial, final, covered, skip, tolerance):
        return Difference(make_pointer(*parts), was, now, True)
    return None


def changed_values(
    initial: State, final: State, covered: Set[Parts] = frozenset(), skip: Sequence[Parts] = (), tolerance: float = 0.0
) -> Iterator[tuple[Parts, Any, Any]]:
    """The leaf values that changed outside private tables: pointer, old and new value (`MISSING` for none).

    Args:
        initial: The initial state.
        final: The final state, derived from ``initial``.
        covered: Pointers that are left out, with all that is below them.
        skip: Patterns of pointers that are left out, as in `simia_gym.state.pointer.covers`.
        tolerance: Maximum difference between numbers that count as equal.
    """
    for table, key in final.touched_since(initial):
        if not table.startswith("_"):
            before, after = initial.get(table, key), final.get(table, key)
            old = MISSING if before is None else before
            new = MISSING if after is None else after
            yield from _changes((table, key), old, new, covered, skip, tolerance)


def goal_of(initial: State, final: State, ignore: Sequence[str] = ()) -> tuple[Op, ...]:
    """Make the goal that exactly this final state meets: ``test`` operations for every value that changed.

    A list whose length changed is tested as a whole.

    Args:
        initial: The initial state.
        final: The final state, derived from ``initial``.
        ignore: Pointers of values that are left out, as in `first_difference`.
    """
    skip = [pointer_parts(path) for path in ignore]
    ops: list[Op] = []
    for table, key in final.touched_since(initial):
        if not table.startswith("_"):
            tests = _tests((table, key), initial.get(table, key), final.get(table, key))
            ops.extend(op for op in tests if not any(covers(each, pointer_parts(op["path"])) for each in skip))
    return tuple(ops)


def value_at(state: State, parts: Parts) -> Any:
    """The value at a decoded pointer, or `MISSING`."""
    row = state.get(parts[0], parts[1])
    try:
        return MISSING if row is None else resolve(row, parts[2:])
    except PatchError:
        return MISSING


def _changes(
    parts: Parts, old: Any, new: Any, covered: Set[Parts], skip: Sequence[Parts], tolerance: float
) -> Iterator[tuple[Parts, Any, Any]]:
    """The leaf values that changed and that the goal does not cover."""
    if parts in covered or (skip and any(covers(each, parts) for each in skip)):
        return
    kind = dict if isinstance(new, dict) else list
    if new and isinstance(new, kind) and (old is MISSING or isinstance(old, kind)):
        for key, was, now in _members(kind() if old is MISSING else old, new):
            if was is not now:
                yield from _changes((*parts, key), was, now, covered, skip, tolerance)
    elif not strict_equal(old, new, tolerance):
        yield parts, old, new


def _tests(parts: Parts, old: Any, new: Any) -> Iterator[Op]:
    """The ``test`` operations for the values that differ."""
    objects = isinstance(old, dict) and isinstance(new, dict) and new
    lists = isinstance(old, list) and isinstance(new, list) and len(old) == len(new)
    if objects or lists:
        for key, was, now in _members(old, new):
            if not strict_equal(was, now):
                yield from _tests((*parts, key), was, now)
    else:
        value = None if new is None or new is MISSING else thaw(new)
        yield {"op": "test", "path": make_pointer(*parts), "value": value}


def _members(old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """The members of two objects or of two lists: key or index, and both values (`MISSING` where there is none)."""
    if isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            yield key, old.get(key, MISSING), new.get(key, MISSING)
    else:
        for index, (was, now) in enumerate(zip_longest(old, new, fillvalue=MISSING)):
            yield str(index), was, now
