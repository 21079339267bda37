"""The way ``played``: a policy, a user and a world play tasks, so that a state and a ledger prove each trajectory."""

from __future__ import annotations

from collections.abc import Callable

from simia_gym.assembly.suite import Suite
from simia_gym.conversations import conversation_of
from simia_gym.errors import InputError
from simia_gym.record.records import Record
from simia_gym.synth.drafts import Attempt, Draft

_LOOKED_AT = 2_000
"""So many tasks in a row without one of a kind, and there is no further one."""
_FIRST = 300
"""So many tasks are looked at for the kinds that a generator makes, unless it says so itself."""


class TasksOfKind:
    """The tasks of a suite by kind, the fixed ones first; made as they are asked for, and none is kept.

    A generator that has ``kinds`` and ``index_of`` (`simia_gym.service.generate.Generator`) makes a task of a kind at
    once. The tasks of others are looked through in their order.

    Args:
        suite: The environment with its train tasks, generated ones included.
    """

    def __init__(self, suite: Suite) -> None:
        self._tasks = suite.tasks
        self._ids: list[str] = []
        self._of: dict[str, list[str]] = {}
        self._last: dict[str, int] = {}
        generator = suite.domain.generator
        self._index_of: Callable[[str, int], int] | None = getattr(generator, "index_of", None)
        self._named = frozenset[str]() if self._index_of is None else frozenset(getattr(generator, "kinds", ()))
        self._look(len(self._tasks.fixed))

    def kinds(self) -> list[str]:
        """The kinds of tasks, as far as they are known."""
        if self._index_of is None:
            self._look(min(_FIRST, len(self._tasks)))
        return sorted({*self._named, *self._of} - {""})

    def get(self, kind: str, number: int) -> str | None:
        """The id of a task by its number in its kind, from 0; ``None`` if there are fewer. Without a kind, of all."""
        if not kind:
            self._look(min(number + 1, len(self._tasks)))
            return self._ids[number] if number < len(self._ids) else None
        found = self._of.setdefault(kind, [])
        while len(found) <= number:
            made = len(found) - self._fixed(kind)
            if self._index_of is not None and kind in self._named:
                place = len(self._tasks.fixed) + self._index_of(kind, made)
                if place >= len(self._tasks):
                    return None
                found.append(self._tasks.id_at(place))
                continue
            seen = len(self._ids)
            if seen >= len(self._tasks) or seen - self._last.get(kind, 0) >= _LOOKED_AT or self._index_of is not None:
                return None
            self._look(seen + 1)
        return found[number]

    def _fixed(self, kind: str) -> int:
        return sum(task.kind == kind for task in self._tasks.fixed)

    def _look(self, upto: int) -> None:
        """Look at the first tasks, up to a number of them."""
        for place in range(len(self._ids), upto):
            task = self._tasks[place]
            self._ids.append(task.id)
            self._of.setdefault(task.kind, []).append(task.id)
            self._last[task.kind] = place


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
