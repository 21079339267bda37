"""Runs a task's gold actions: their calls in the world, to check its goal or to write it; or all as a policy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simia_gym.common.writing import write_whole
from simia_gym.domain.domain import Domain
from simia_gym.domain.goal import check_goal, first_difference, goal_of, goal_parts
from simia_gym.domain.tasks import gold_action
from simia_gym.errors import Cut, DomainError, Fault, InputError, PatchError
from simia_gym.policies import PolicyStart
from simia_gym.state import State, make_pointer
from simia_gym.types import Calls, End, Message, Op, Task

_FIX = "Mend the task's gold actions or its goal."
_STYLES = [(ascii_only, marks) for ascii_only in (False, True) for marks in ((", ", ": "), (",", ":"))]
"""Styles in which a line of JSON may be written: ``ensure_ascii`` and ``separators`` of `json.dumps`."""


def _run(domain: Domain, task: Task) -> tuple[State, State, list[str]]:
    """The states before and after the gold actions, and a message for each action that fails."""
    assert domain.world is not None
    failures = []
    initial = state = domain.begun(task)
    for number, action in enumerate(map(gold_action, task.gold)):
        for call in action.calls if isinstance(action, Calls) else ():
            given = domain.world.call(state, call)
            state = state if given.state is None else given.state
            if given.outcome == "error":
                failures.append(f"gold action {number} ({call.name}) fails: {given.observation}")
    return initial, state, failures


def is_whole(task: Task) -> bool:
    """Whether a task's gold actions are all that an agent does: there is no goal, or they talk or end the episode."""
    return bool(task.gold) and (task.goal is None or any("name" not in item for item in task.gold))


class GoldPolicy:
    """Plays a task's gold actions, one a turn; an episode that goes on after the last one is judged there."""

    def __init__(self, task: Task) -> None:
        self._left = [*map(gold_action, task.gold)]
        self._start: PolicyStart | None = None

    def start(self, start: PolicyStart) -> None:
        """Begin the episode."""
        self._start = start

    def act(self, messages: Sequence[Message]) -> str:
        """Write the next action."""
        assert self._start is not None
        if not self._left:
            raise Cut
        action = self._left.pop(0)
        if isinstance(action, End) and self._start.replies == "end":
            return action.answer
        return self._start.grammar.render(action)


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
            write_whole(path, "\n".join(written))
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
