"""Finds the rows of a table that meet conditions, by an index over the base table that related states share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from simia_gym.state import State
from simia_gym.state.table import Table
from simia_gym.types import Row, ToolCall
from simia_gym.views.placeholders import Context, Template, as_text, walk
from simia_gym.views.selectors import Condition

_NOWHERE = Context(State.from_tables({}), ToolCall("", {}))


class Search:
    """Finds rows of one table.

    Args:
        table: The table.
        conditions: The conditions, all of which a row must meet.
    """

    def __init__(self, table: str, conditions: Sequence[Condition]) -> None:
        self._table, self._conditions = table, conditions
        self._index = next(((each, fn) for each in conditions if (fn := _indexed(each)) is not None), None)

    def meets(self, row: Row, context: Context) -> bool:
        """Whether a row meets every condition."""
        return not self._conditions or all(_meets(row, condition, context) for condition in self._conditions)

    def find(self, context: Context) -> Iterable[tuple[str, Row]]:
        """The rows that meet every condition with their keys, in row order."""
        table = context.state.table(self._table)
        if table is None:
            return ()
        if self._index is None:
            return ((key, row) for key, row in table.rows() if self.meets(row, context))
        return self._by_index(table, context)

    def _by_index(self, table: Table, context: Context) -> Iterator[tuple[str, Row]]:
        assert self._index is not None
        condition, values = self._index

        def found(key: str, row: Row) -> Iterable[Hashable]:
            return values(row)

        keys = {key for value in _wanted(condition, context) for key in table.keys_of(self, found, value)}
        for key in sorted(keys, key=table.place):
            row = table.get(key)
            if row is not None and self.meets(row, context):
                yield key, row


def _indexed(condition: Condition) -> Callable[[Row], Iterable[Hashable]] | None:
    """The function that gives a row's index keys for a condition; ``None`` if the condition cannot be indexed."""
    path = condition.path
    if condition.value is not None:
        if any(isinstance(step, Template) for step in path):
            return None
        return lambda row: [_fold(value) for value in walk([row], path, _NOWHERE)]
    if any(isinstance(step, Template) for step in path[:-1]) or not isinstance(path[-1], Template):
        return None
    return lambda row: [key for value in walk([row], path[:-1], _NOWHERE) for key in _names(value)]


def _names(value: Any) -> Iterable[str]:
    """The names of the possible next path steps below a value."""
    if isinstance(value, dict):
        return value
    return map(str, range(len(value))) if isinstance(value, list) else ()


def _wanted(condition: Condition, context: Context) -> list[Hashable]:
    if condition.value is not None:
        return [_fold(value) for value in condition.value.values(context)]
    last = condition.path[-1]
    assert isinstance(last, Template)
    return [as_text(value) for value in last.values(context)]


def _meets(row: Row, condition: Condition, context: Context) -> bool:
    found = walk([row], condition.path, context)
    if condition.value is None:
        return bool(found)
    wanted = {_fold(value) for value in condition.value.values(context)}
    return any(_fold(value) in wanted for value in found)


def _fold(value: Any) -> Hashable:
    """The form in which a value is compared: case is ignored, and a boolean differs from a number."""
    if isinstance(value, str):
        return value.casefold()
    if isinstance(value, bool) or value is None:
        return (value,)
    return value if isinstance(value, int | float) else as_text(value)
