"""Generates any number of tasks of ten kinds, without a sandbox.

The files and the values of a task are drawn anew, in a project whose name belongs to the split; the goal is the exact
end. The gold actions and the expert do the work in two ways of their own; the tests play both in a sandbox.
"""

from __future__ import annotations

import random

from simia_gym.envs._work.numbers import generated_task, shipped_tasks
from simia_gym.envs.os.work.changing import CHANGED
from simia_gym.envs.os.work.drawing import Drawn
from simia_gym.envs.os.work.looking import ANSWERED
from simia_gym.envs.os.work.sentences import kinds
from simia_gym.types import JsonObject, Split, Task

N_FIXED = {"train": 40, "test": 20}
"""Number of tasks that ship with the domain."""
_ONLY: JsonObject = {"program": "simia_gym.envs.os.answers:nothing_else"}


def generate(split: Split, index: int) -> Task:
    """Generate a task.

    Returns:
        The task; the same arguments give the same task.

    Raises:
        InputError: The index is out of range.
    """
    return generated_task(_task, "os", split, index)


def fixed_tasks(split: Split) -> list[Task]:
    """Generate the tasks that ship with the domain."""
    return shipped_tasks(_task, "os", split, N_FIXED[split])


def _task(task_id: str, split: Split, number: int, seed: str) -> Task:
    names = list(kinds())
    kind, rng = names[number % len(names)], random.Random(seed)
    several = kinds()[kind]
    way = several[number // len(names) % len(several)]
    drawn = Drawn(rng, split)
    answer = ANSWERED[way.name](drawn) if way.name in ANSWERED else None
    if answer is None:
        CHANGED[way.name](drawn)
    calls: list[JsonObject] = [{"name": "bash_action", "arguments": {"script": script}} for script in drawn.gold]
    criteria = [
        _criterion("nothing_else", "forbidden", _ONLY, "After no command anything else differed outside of /tmp.")
    ]
    if answer is None:
        calls.append({"name": "finish_action", "arguments": {}})
    else:
        calls.append({"name": "answer_action", "arguments": {"answer": answer}})
        right: JsonObject = {"program": "simia_gym.envs.os.answers:answered", "value": answer}
        criteria.append(_criterion("answered", "communication", right, "The answer is right."))
        looked: JsonObject = {"program": "called", "tool": "bash_action"}
        criteria.append(_criterion("looked", "interaction", looked, "It looked before it answered."))
    return Task(
        id=task_id,
        split=split,
        kind=kind,
        instruction=rng.choice(way.say).format(**drawn.values),
        setup=tuple(drawn.setup),
        gold=tuple(calls),
        goal=tuple(drawn.tests),
        criteria=tuple(criteria),
        options={"way": way.name},
    )


def _criterion(name: str, kind: str, check: JsonObject, says: str) -> JsonObject:
    return {"id": name, "kind": kind, "check": check, "says": says}
