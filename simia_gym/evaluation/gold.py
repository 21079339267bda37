"""Runs a task's gold actions in the world, to check the task's goal or to write it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simia_gym.domain.domain import Domain
from simia_gym.domain.goal import check_goal, first_difference, goal_of, goal_parts
from simia_gym.errors import DomainError, Fault, InputError, PatchError
from simia_gym.state import State, make_pointer
from simia_gym.types import Op, Task, ToolCall

_FIX = "Mend the task's gold actions or its goal."
_STYLES = [(ascii_only, marks) for ascii_only in (False, True) for marks in ((", ", ": "), (",", ":"))]
"""Styles in which a line of JSON may be written: ``ensure_ascii`` and ``separators`` of `json.dumps`."""


def _run(domain: Domain, task: Task) -> tuple[State, State, list[str]]:
    """The states before and after the gold actions, and a message for each action that fails."""
    assert domain.world is not None
    failures = []
    initial = state = domain.base.apply(task.setup) if task.setup else domain.base
    for number, item in enumerate(task.gold):
        given = domain.world.call(state, ToolCall(item["name"], dict(item.get("arguments", {}))))
        state = state if given.state is None else given.state
        if given.outcome == "error":
            failures.append(f"gold action {number} ({item['name']}) fails: {given.observation}")
    return initial, state, failures


def _check_counted(domain: Domain, goal: Sequence[Op]) -> None:
    """Check that no goal looks at a table that goals do not count.

    Raises:
        DomainError: An operation tests such a table.
    """
    for op in goal:
        table = goal_parts(op["path"])[0]
        if make_pointer(table) in domain.uncounted:
            fix = f'Leave it out, or remove "goal": false from the table {table!r} in the state\'s schema.'
            raise DomainError(f"{op['path']!r} lies in a table that goals do not count", where="goal", fix=fix)


def try_gold(domain: Domain, task: Task, where: str) -> tuple[bool | None, Sequence[InputError]]:
    """Whether a task's gold actions reach its goal (``None`` without a goal or a world), and the problems found."""
    if task.goal is None or domain.world is None:
        return None, ()
    try:
        check_goal(task.goal)
        _check_counted(domain, task.goal)
        initial, final, failures = _run(domain, task)
        difference = first_difference(task.goal, initial, final, ignore=domain.outside_goal(task))
    except InputError as error:
        return False, [type(error)(error.what, where=f"{where}, {error.where}", fix=error.fix)]
    except (Fault, PatchError, KeyError) as error:
        return False, [DomainError(f"gold actions cannot be run: {error}", where=where, fix=_FIX)]
    if difference is not None:
        failures.append(f"the gold actions do not reach the goal: {difference.describe()}")
    problems = [DomainError(what, where=where, fix=_FIX) for what in failures]
    return not problems, problems


def write_goals(domain: Domain) -> list[str]:
    """Write the goals that the gold actions reach into the task files.

    A task keeps its goal if its gold actions reach it, if the goal is ``null``, or if the task has no ``gold``. The
    lines of such tasks stay byte-identical.

    Returns:
        A sentence for each file that was written.

    Raises:
        DomainError: A gold action fails; its file is not written.
    """
    notes = []
    for split, name in domain.config.tasks.items():
        path = domain.folder / name
        tasks = {task.id: task for task in domain.tasks[split]}
        lines = path.read_text(encoding="utf-8").split("\n")
        written = [_with_goal(domain, tasks, line, path) for line in lines]
        changed = sum(new != old for new, old in zip(written, lines, strict=True))
        if changed:
            path.write_text("\n".join(written), encoding="utf-8")
            notes.append(f"{path} was written: {changed} of {len(tasks)} goals are new")
    return notes


def _with_goal(domain: Domain, tasks: dict[str, Task], line: str, path: Path) -> str:
    if not line.strip():
        return line
    value: dict[str, Any] = json.loads(line)
    task = tasks[value["id"]]
    where = f"{path}: task {task.id}"
    if "gold" not in value or value.get("goal", ()) is None or try_gold(domain, task, where)[0]:
        return line
    fix = "Mend the gold actions; the goals of this file are as before."
    try:
        initial, final, failures = _run(domain, task)
    except (Fault, PatchError, KeyError) as error:
        raise DomainError(f"gold actions cannot be run: {error}", where=where, fix=fix) from error
    if failures:
        raise DomainError(failures[0], where=where, fix=fix)
    goal = list(goal_of(initial, final, domain.outside_goal(tasks[value["id"]])))
    for ascii_only, marks in _STYLES:
        if json.dumps(value, ensure_ascii=ascii_only, separators=marks) == line:
            return json.dumps({**value, "goal": goal}, ensure_ascii=ascii_only, separators=marks)
    return json.dumps({**value, "goal": goal}, ensure_ascii=False)
