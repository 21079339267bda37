"""The way ``played``: a policy, a user and a world play tasks, so that a state and a ledger prove each trajectory."""

from __future__ import annotations

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
        return sorted(kind for kind, tasks in self._found.items() if tasks)

    def get(self, kind: str, number: int) -> Task | None:
        """The task of a number of its kind, from 0; ``None`` if there are fewer. Without a kind, of all tasks."""
        if not kind:
            return self._tasks[number] if number < len(self._tasks) else None
        found = self._found.setdefault(kind, [])
        looked_at = 0
        while len(found) <= number:
            if self._next >= len(self._tasks) or looked_at == _LOOKED_AT:
                return None
            before = len(found)
            self._look(self._next)
            looked_at = looked_at + 1 if len(found) == before else 0
        return found[number]

    def _look(self, upto: int) -> None:
        while self._next <= upto:
            task = self._tasks[self._next]
            self._found.setdefault(task.kind, []).append(task)
            self._next += 1


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
        "prompt": record.config.get("prompt", "full"),
    }
    return Draft.from_json({**about, "messages": list(found.messages), "facts": facts})
