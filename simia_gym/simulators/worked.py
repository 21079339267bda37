"""Worked calls for the prompt: for each writing tool one call of a train task, answered by running the world."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice

from simia_gym.common.json_encoding import encode
from simia_gym.domain.domain import Domain
from simia_gym.domain.tasks import gold_calls
from simia_gym.errors import Fault, InputError, PatchError
from simia_gym.types import JsonObject, Task

_TASKS = 40
"""Train tasks that are looked at."""


def worked_calls(domain: Domain) -> list[JsonObject]:
    """One successful gold call of the fixed train tasks for each writing tool, the shortest, with what it changes.

    There is none where there is no world, for a tool that no such task calls, or for one that waits for something
    outside the process, as a sandbox: the prompt is written while episodes run.
    """
    if domain.world is None:
        return []
    found: dict[str, tuple[int, JsonObject]] = {}
    for task in islice(domain.tasks.get("train", ()), _TASKS):
        with suppress(Fault, PatchError, KeyError, InputError):
            for name, example in _played(domain, task):
                size = len(encode(example))
                if name not in found or size < found[name][0]:
                    found[name] = size, example
    return [found[name][1] for name in domain.specs if name in found]


def _played(domain: Domain, task: Task) -> list[tuple[str, JsonObject]]:
    """The successful writes of a task, each as an example."""
    assert domain.world is not None
    state, made = domain.begun(task), list[tuple[str, JsonObject]]()
    for call in gold_calls(task):
        if call.name in domain.world.waiting:
            break
        done = domain.world.call(state, call)
        spec = domain.specs.get(call.name)
        if spec is not None and spec.effect == "write" and done.outcome == "ok" and done.ops:
            example: JsonObject = {"call": {"name": call.name, "arguments": call.arguments}, "ops": list(done.ops)}
            if spec.render is None:
                example["observation"] = done.observation
            made.append((call.name, example))
        state = state if done.state is None else done.state
    return made
