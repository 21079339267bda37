"""Reads and writes tasks, as JSON Lines."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, overload

from simia_gym.common.files import read_jsonl
from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.common.validation import validated
from simia_gym.domain.goal import check_goal
from simia_gym.errors import DomainError, InputError
from simia_gym.state import freeze
from simia_gym.types import Action, Calls, End, JsonObject, Say, Split, Task, ToolCall

_ID = "Give every task an id of visible characters in one line."
_TUPLES = ("setup", "gold", "goal", "criteria", "reference")


def task_to_json(task: Task) -> JsonObject:
    """Convert a task to plain JSON values; fields with default values are omitted."""
    out: JsonObject = {}
    for field in dataclasses.fields(task):
        value = getattr(task, field.name)
        if isinstance(value, tuple):
            value = list(value)
        if field.name in ("id", "split", "kind") or (value is not None and value != [] and value != {}):
            out[field.name] = value
    if task.goal is not None and not task.goal:
        out["goal"] = []
    return out


def task_from_json(value: Any, where: str) -> Task:
    """Make a task from a decoded JSON object; ``where`` is its file and line.

    Raises:
        DomainError: The object is not a valid task; the message names the field.
    """
    validated(Task, value, where=f"{where}: ")
    if problem := _id_problem(value["id"]):
        raise DomainError(problem, where=f"{where}: id", fix=_ID)
    try:
        check_goal(value.get("goal") or ())
        list(map(gold_action, value.get("gold", ())))
        _check_reference(value.get("reference", ()))
    except InputError as error:
        raise DomainError(error.what, where=f"{where}: {error.where}", fix=error.fix) from error
    frozen = freeze(value)  # episodes share the task, so it must be read-only
    fields: dict[str, Any] = {k: tuple(v) if k in _TUPLES and v is not None else v for k, v in frozen.items()}
    return Task(**fields)


def _check_reference(messages: Sequence[Mapping[str, Any]]) -> None:
    """Check that a reference is a conversation.

    Raises:
        InputError: A message has another role, or says and calls nothing.
    """
    for number, message in enumerate(messages):
        said = isinstance(message.get("content"), str) or message.get("call") or message.get("tool_calls")
        if message.get("role") not in ("user", "assistant", "tool") or not said:
            fix = 'Write {"role": "user", "assistant" or "tool", ...} with "content", "call" or "tool_calls".'
            raise InputError(f"{message!r} is no message", where=f"reference[{number}]", fix=fix)


def _id_problem(task_id: str) -> str:
    """What is wrong with a task's id, which is written into names, tables and lines; empty if nothing is."""
    if not task_id.strip():
        return f"the task id {task_id!r} is empty"
    return "" if task_id.isprintable() else f"the task id {task_id!r} has a line break or an invisible character"


def gold_action(item: Mapping[str, Any]) -> Action:
    """Read one of a task's gold actions.

    Raises:
        InputError: It is neither a call, nor a message, nor an end.
    """
    match dict(item):
        case {"name": str(name), **rest} if rest.keys() <= {"arguments"} and isinstance(
            rest.get("arguments", {}), dict
        ):
            return Calls((ToolCall(name, dict(rest.get("arguments", {}))),))
        case {"say": str(text), **rest} if not rest:
            return Say(text)
        case {"end": str(answer), **rest} if not rest:
            return End(answer)
    fix = 'Write {"name": tool, "arguments": {...}}, {"say": text} or {"end": answer}.'
    raise InputError(f"{item!r} is no action", where="gold", fix=fix)


def gold_calls(task: Task) -> list[ToolCall]:
    """The tool calls among a task's gold actions."""
    actions = map(gold_action, task.gold)
    return [call for action in actions if isinstance(action, Calls) for call in action.calls]


def read_tasks(path: Path, split: Split) -> tuple[tuple[Task, ...], Mapping[str, int], list[InputError]]:
    """Read the tasks of one split; returns the valid tasks, the lines of their ids, and one error per mistake."""
    tasks: list[Task] = []
    problems: list[InputError] = []
    seen: dict[str, int] = {}
    try:
        for number, value in read_jsonl(path, what="task file"):
            where = f"{path}:{number}"
            try:
                task = task_from_json(value, where)
            except DomainError as error:
                problems.extend(error.problems or (error,))
                continue
            if task.split != split:
                fix = "Move it to the other file or change its split."
                problems.append(DomainError(f"task {task.id!r} says split {task.split!r}", where=where, fix=fix))
            if task.id in seen:
                fix = "Give every task its own id."
                problems.append(
                    DomainError(f"task id {task.id!r} occurs on line {seen[task.id]} too", where=where, fix=fix)
                )
            seen[task.id] = number
            tasks.append(task)
    except InputError as error:
        problems.append(error)
    return tuple(tasks), seen, problems


def task_blob(task: Task) -> tuple[str, bytes]:
    """Hash and canonical JSON of a task."""
    data = encode(task_to_json(task))
    return hash_of(data), data


def index_in(task_id: str) -> int | None:
    """The index of a generated task, with which its id ends; ``None`` if the id ends with no number."""
    number = re.search(r"\d+\Z", task_id)
    return None if number is None else int(number.group())


def _as_asked(task: Task, split: Split, index: int) -> Task:
    """Check that a generated task is of its split, and can be found again by its id."""
    if getattr(task, "split", split) != split:  # `rollout.jobs` reports what is not a task
        what = f"the generator was asked for a task of {split} and made {task.id!r}, which says split {task.split!r}"
        fix = "Let it make other tasks for each of train, dev and test, with the split that it was asked for."
        raise DomainError(what, where="generator", fix=fix)
    if problem := _id_problem(str(getattr(task, "id", index))):
        raise DomainError(problem, where="generator", fix=_ID)
    if index_in(str(getattr(task, "id", index))) != index:
        fix = "Let the domain's generator end each id with the task's index, after a character that is no digit."
        raise DomainError(f"the id of generated task {index} is {task.id!r}", where="generator", fix=fix)
    return task


class TaskList(Sequence[Task]):
    """The fixed tasks of a split followed by generated ones, which are made on access.

    Args:
        fixed: The fixed tasks.
        generated: Number of generated tasks per split.
        generate: The domain's generator; with ``id_of(split, index)`` it tells ids without making the tasks.

    Attributes:
        fixed: The fixed tasks.
    """

    def __init__(
        self, fixed: Sequence[Task], generated: Mapping[Split, int], generate: Callable[[Split, int], Task] | None
    ) -> None:
        self.fixed = tuple(fixed)
        self._generate = generate
        self._plan = dict(generated)

    def __len__(self) -> int:
        return len(self.fixed) + sum(self._plan.values())

    def places_of(self, task_id: str) -> Iterator[int]:
        """The indices at which the task of an id may stand, so that one task a split is made to find it."""
        for position, task in enumerate(self.fixed):
            if task.id == task_id:
                yield position
        number, first = index_in(task_id), len(self.fixed)
        for count in self._plan.values():
            if number is not None and number < count:
                yield first + number
            first += count

    def id_at(self, index: int) -> str:
        """The id of the task at an index; the task is made only if its generator has no ``id_of``."""
        id_of: Callable[[Split, int], str] | None = getattr(self._generate, "id_of", None)
        number = index - len(self.fixed)
        if id_of is None or number < 0:
            return self[index].id
        for split, count in self._plan.items():
            if number < count:
                return id_of(split, number)
            number -= count
        raise IndexError(index)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> list[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | list[Task]:
        """The task at an index, or a list of tasks for a slice."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        if position < len(self.fixed):
            return self.fixed[position]
        number = position - len(self.fixed)
        make = cast("Callable[[Split, int], Task]", self._generate)
        for split, count in self._plan.items():
            if number < count:
                return _as_asked(make(split, number), split, number)
            number -= count
        raise IndexError(index)

    def __iter__(self) -> Iterator[Task]:
        # Not that of `Sequence`, which would take an `IndexError` of the generator for the end.
        return (self[i] for i in range(len(self)))
