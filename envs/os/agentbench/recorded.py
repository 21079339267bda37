"""Plays AgentBench's published solutions on their machines, and says which satisfy their own checks."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from simia_gym.domain.domain import Domain
from simia_gym.envs.os.agentbench.causes import FOLDERS
from simia_gym.envs.os.agentbench.judging import judge
from simia_gym.envs.os.agentbench.published import Published, read
from simia_gym.envs.os.agentbench.running import READ_ONLY, begin, text
from simia_gym.envs.os.machine import base_tree
from simia_gym.envs.os.rooms import run_now
from simia_gym.errors import Fault, InputError
from simia_gym.sandbox import working_way
from simia_gym.types import JsonObject

_OTHER = "its solution fails: "


def verify(domain: Domain, *, data: Path | None, rollouts: Path | None) -> JsonObject:
    """Play all published solutions: the agent runs the example, answers what it wrote, and is judged.

    Returns:
        ``tasks``, ``solutions``, ``solutions_pass``, ``solutions_pass_published`` (with ``compat="agentbench"``),
        ``causes`` by task (why it cannot be played here, or its solution fails), ``without_solution`` (tasks that
        publish none), ``agree`` (whether every solution was played or has a cause) and ``differences``.

    Raises:
        InputError: No data are named, they cannot be read, or there is no sandbox.
    """
    if data is None or rollouts is not None:
        fix = "Give --data FILE with the benchmark's tasks, and no --rollouts: there are none of it."
        raise InputError("the shell verifies the benchmark's own tasks", fix=fix)
    found = read(data)
    working_way()
    with ThreadPoolExecutor(2 * (os.cpu_count() or 1), thread_name_prefix="simia-gym-verify") as threads:
        played = [*threads.map(_played, found)]
    failures = {one.name: why for one, (why, _) in zip(found, played, strict=True) if isinstance(why, Fault)}
    causes = {one.name: why for one, (why, _) in zip(found, played, strict=True) if isinstance(why, str) and why}
    solved = [why == "" and one.evaluation.example is not None for one, (why, _) in zip(found, played, strict=True)]
    return {
        "tasks": len(found),
        "solutions": sum(one.evaluation.example is not None for one in found),
        "solutions_pass": sum(solved),
        "solutions_pass_published": sum(as_published for _, as_published in played),
        "causes": causes,
        "without_solution": [one.name for one in found if one.evaluation.example is None],
        "agree": not failures,
        "differences": [f"{name}: {fault.message}" for name, fault in failures.items()],
    }


def _played(one: Published) -> tuple[str | Fault, bool]:
    """Why a task's solution does not count, nothing if it does; and whether it does as published."""
    if one.cause or one.evaluation.example is None:
        return one.cause, False
    try:
        begun = begin(one.init, one.start, base_tree())
        done, final = run_now(begun.tree, one.evaluation.example.code, begun.shell, 1)
        answer = text(done.output).strip()
        sound, published = (
            judge(one.evaluation, begun.tree, final, answer, published=asked) for asked in (False, True)
        )
    except Fault as fault:
        return (FOLDERS if fault.kind == READ_ONLY else fault), False
    return "" if sound.passed else f"{_OTHER}{sound.reason}", published.passed
