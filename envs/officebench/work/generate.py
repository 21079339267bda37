"""Generates any number of tasks: of one app for training, of two or three for tests, as in the published setting.

The office and the values of a task are drawn anew; a goal says the whole change. The gold actions are those of the
expert's plan, played in the office; `simia check` and the tests prove that they reach the goal, which follows from what
was drawn.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simia_gym.common.files import read_json
from simia_gym.envs._work.numbers import generated_task, shipped_tasks
from simia_gym.envs.officebench.work.drawing import Drawn
from simia_gym.envs.officebench.work.making import MAKERS
from simia_gym.envs.officebench.work.plans import whole_plan
from simia_gym.envs.officebench.work.sentences import kinds
from simia_gym.envs.officebench.world import OfficeApps
from simia_gym.state import State
from simia_gym.types import JsonObject, Split, Task

N_FIXED = {"train": 40, "test": 20}
"""Number of tasks that ship with the domain."""


def generate(split: Split, index: int) -> Task:
    """Generate a task.

    Returns:
        The task; the same arguments give the same task.

    Raises:
        InputError: The index is out of range.
    """
    return generated_task(_task, "officebench", split, index, "office")


def fixed_tasks(split: Split) -> list[Task]:
    """Generate the tasks that ship with the domain."""
    return shipped_tasks(_task, "officebench", split, N_FIXED[split], "office")


def _task(task_id: str, split: Split, number: int, seed: str) -> Task:
    several = split == "test"
    names = [kind.name for kind in kinds().values() if (len(kind.apps) > 1) == several]
    kind, rng = kinds()[names[number % len(names)]], random.Random(seed)
    while True:
        drawn = Drawn(rng)
        try:
            answer = MAKERS[kind.name](drawn)
        except LookupError:  # such as a day without a free hour
            continue
        break
    instruction = rng.choice(kind.say).format(**drawn.values)
    criteria: list[JsonObject] = []
    if answer is not None:
        check: JsonObject = {"program": "simia_gym.envs.officebench.answers:answered", "value": answer}
        criteria.append({"id": "answered", "kind": "communication", "check": check, "says": "The answer is right."})
    if drawn.looks:
        looked: JsonObject = {"program": "called", "tool": [*drawn.looks], "outcome": "any"}
        criteria.append(
            {"id": "looked", "kind": "interaction", "check": looked, "says": "It looked before it gave up."}
        )
    return Task(
        id=task_id,
        split=split,
        kind=kind.name,
        instruction=instruction,
        setup=tuple(drawn.setup),
        gold=tuple(_played(kind.way, drawn)),
        goal=tuple(drawn.goal),
        criteria=tuple(criteria),
        options={"apps": len(kind.apps)},
    )


def _played(way: str, drawn: Drawn) -> Sequence[JsonObject]:
    """The calls of the expert's plan in the office that was drawn."""
    world, state = OfficeApps(), _office().apply(drawn.setup)
    plan = whole_plan(way, drawn.values)
    calls: list[JsonObject] = []
    shown: str | None = None
    while True:
        try:
            call = next(plan) if shown is None else plan.send(shown)
        except StopIteration:
            return calls
        done = world.call(state, call)
        state, shown = done.state or state, done.observation
        if done.outcome == "ok":
            calls.append({"name": call.name, "arguments": dict(call.arguments)})


def _office() -> State:
    tables: dict[str, Any] = read_json(Path(__file__).parents[1] / "state.json")
    return State.from_tables(tables)
