"""Computes a minimal JSON Patch from a frozen JSON value to a changed copy of it.

The patch reproduces the second value exactly, including number types (``1``, ``1.0`` and ``True`` differ) and key
order, because observations are written from these values.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any, TypeAlias

from simia_gym.state.equality import identical
from simia_gym.state.frozen import FrozenDict, freeze, frozen_dict, frozen_list
from simia_gym.state.pointer import make_pointer
from simia_gym.types import Op

Path: TypeAlias = tuple[str | int, ...]

_CONTAINERS = (dict, list)

# Maximum product of two list lengths for which the best alignment of their items is computed.
_ALIGN_LIMIT = 2_500


def reconcile(before: Any, after: Any, path: Path, ops: list[Op]) -> Any:
    """Freeze ``after``, sharing its unchanged parts with the frozen ``before``, and append the differences to ``ops``.

    Returns:
        ``before`` itself if nothing differs, else the frozen new value.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        return _dicts(before, after, path, ops)
    if isinstance(before, list) and isinstance(after, list):
        return _lists(before, after, path, ops)
    new = freeze(after)
    if isinstance(new, _CONTAINERS):
        # A tuple or a mapping that is not a dict has become a comparable container only now.
        if not isinstance(after, _CONTAINERS) and isinstance(before, _CONTAINERS):
            return reconcile(before, new, path, ops)
    elif identical(before, new):
        return before
    ops.append(make_op("replace", path, new))
    return new


def make_op(name: str, path: Path, value: Any) -> FrozenDict:
    """Make a frozen operation."""
    return frozen_dict(({"op": name, "path": make_pointer(*path), "value": value},))


def make_remove(path: Path) -> FrozenDict:
    """Make a frozen ``remove`` operation."""
    return frozen_dict(({"op": "remove", "path": make_pointer(*path)},))


def _dicts(before: dict[str, Any], after: dict[str, Any], path: Path, ops: list[Op]) -> Any:
    mark = len(ops)
    # Keys that keep their position: the longest prefix of `after` whose keys occur in `before` in the same order.
    ahead = iter(before)
    same = list(before) == list(after)
    kept = before if same else dict.fromkeys(takewhile(lambda key: key in ahead, after))
    added = list(after)[len(kept) :]
    moved = sum(key in before for key in added)
    if moved > 1 or (moved and not kept):
        new = freeze(after)
        ops.append(make_op("replace", path, new))
        return new
    parts: dict[str, Any] = {}
    for key in kept:
        old, new = before[key], after[key]
        # Most values of a row are unchanged, which `identical` finds faster than recursion.
        parts[key] = old if old is new or identical(old, new) else reconcile(old, new, (*path, key), ops)
    ops.extend(make_remove((*path, key)) for key in before if key not in kept)
    additions = freeze({key: after[key] for key in added})
    ops.extend(make_op("add", (*path, key), value) for key, value in additions.items())
    return before if len(ops) == mark else frozen_dict((parts, additions))


def _lists(before: list[Any], after: list[Any], path: Path, ops: list[Op]) -> Any:
    start, shorter = 0, min(len(before), len(after))
    while start < shorter and identical(before[start], after[start]):
        start += 1
    if start == len(before) == len(after):
        return before
    end = 0
    while end < shorter - start and identical(before[-1 - end], after[-1 - end]):
        end += 1
    result: list[Any] = list(before[:start])
    place, length, mark = start, len(before), len(ops)
    for step, old, new in _align(before[start : len(before) - end], after[start : len(after) - end]):
        if step == "remove":
            ops.append(make_remove((*path, place)))
            length -= 1
            continue
        if step == "add":
            value = freeze(new)
            ops.append(make_op("add", (*path, "-" if place == length else place), value))
            length += 1
        else:
            value = reconcile(old, new, (*path, place), ops)
        result.append(value)
        place += 1
    result.extend(before[len(before) - end :])
    return before if len(ops) == mark else frozen_list(result)


def _align(before: list[Any], after: list[Any]) -> list[tuple[str, Any, Any]]:
    """Pair the items of two lists with the fewest replacements, additions and removals."""
    rows, columns = len(before), len(after)
    if (rows <= 1 and columns <= 1) or rows == 0 or columns == 0 or rows * columns > _ALIGN_LIMIT:
        return _pair_in_order(before, after)
    same = [[identical(old, new) for new in after] for old in before]
    if not any(any(line) for line in same):
        return _pair_in_order(before, after)
    # cost[i][j]: minimum number of edits from before[i:] to after[j:].
    cost = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows, -1, -1):
        for j in range(columns, -1, -1):
            if i == rows or j == columns:
                cost[i][j] = (rows - i) + (columns - j)
            elif same[i][j]:
                cost[i][j] = cost[i + 1][j + 1]
            else:
                cost[i][j] = 1 + min(cost[i + 1][j + 1], cost[i + 1][j], cost[i][j + 1])
    steps: list[tuple[str, Any, Any]] = []
    i = j = 0
    while i < rows or j < columns:
        if i < rows and j < columns and cost[i][j] == cost[i + 1][j + 1] + (not same[i][j]):
            steps.append(("keep", before[i], after[j]))
            i, j = i + 1, j + 1
        elif i < rows and cost[i][j] == cost[i + 1][j] + 1:
            steps.append(("remove", before[i], None))
            i += 1
        else:
            steps.append(("add", None, after[j]))
            j += 1
    return steps


def _pair_in_order(before: list[Any], after: list[Any]) -> list[tuple[str, Any, Any]]:
    shorter = min(len(before), len(after))
    steps: list[tuple[str, Any, Any]] = [("keep", before[i], after[i]) for i in range(shorter)]
    steps += [("remove", item, None) for item in before[shorter:]]
    steps += [("add", None, item) for item in after[shorter:]]
    return steps
