"""The way ``played``: a policy, a user and a world play tasks, so that a state and a ledger prove each trajectory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count

from simia_gym.assembly.suite import Suite
from simia_gym.conversations import conversation_of
from simia_gym.errors import InputError
from simia_gym.record.records import Record
from simia_gym.synth.drafts import Attempt, Draft
from simia_gym.types import Task

_LOOKED_AT = 2_000
"""So many tasks in a row without one of a kind, and there is none."""


class TasksOfKind:
    """The tasks of a suite by kind, in their order; found as they are asked for.

    Args:
        suite: The environment with its train tasks, generated ones included.
    """

    def __init__(self, suite: Suite) -> None:
        self._tasks = suite.tasks
        self._next = 0
        self._found: dict[str, list[Task]] = {}

    def kinds(self, looked_at: int = 300) -> list[str]:
        """The kinds of the first tasks."""
        self._look(min(looked_at, len(self._tasks)) - 1)
        return sorted(self._found)

    def get(self, kind: str, number: int) -> Task | None:
        """The task of a number of its kind, from 0; ``None`` if there are fewer. Without a kind, of all tasks."""
        if not kind:
            return self._tasks[number] if number < len(self._tasks) else None
        since = self._next
        while len(self._found.get(kind, ())) <= number:
            before = len(self._found.get(kind, ()))
            if self._next >= len(self._tasks) or self._next - since > _LOOKED_AT:
                return None
            self._look(self._next)
            since = self._next if len(self._found.get(kind, ())) > before else since
        return self._found[kind][number]

    def _look(self, upto: int) -> None:
        while self._next <= upto:
            task = self._tasks[self._next]
            self._found.setdefault(task.kind, []).append(task)
            self._next += 1


def tasks_for(attempts: Sequence[Attempt], tasks: TasksOfKind) -> dict[str, Attempt]:
    """The task of each attempt by its id, without attempts for which there is no task left."""
    found = {}
    for attempt in attempts:
        task = tasks.get(attempt.kind, attempt.number)
        if task is not None:
            found[task.id] = attempt
    return found


def draft_of(record: Record, attempt: Attempt) -> Draft:
    """The draft of a recorded episode; a fault leaves none."""
    about = {"id": attempt.id, "order": attempt.order, "kind": record.kind, "way": "played", "model": record.policy}
    if not record.valid or record.reward is None:
        return Draft.from_json({**about, "fault": str((record.verdict or {}).get("reason") or "no reward")})
    try:
        found = conversation_of(record)
    except InputError as error:
        return Draft.from_json({**about, "fault": error.what})
    facts = {
        "task": record.task,
        "seed": record.seed,
        "reward": record.reward,
        "success": record.success,
        "key": record.key,
    }
    return Draft.from_json({**about, "messages": list(found.messages), "facts": facts})


def rounds() -> Iterator[str]:
    """Names of the record files, one for each round of attempts."""
    return (f"episodes-{number}.jsonl" for number in count(1))


PlayTasks = Callable[[Sequence[str], str], Sequence[Record]]
"""Plays tasks, given their ids and the name of the record file, and returns their records."""
