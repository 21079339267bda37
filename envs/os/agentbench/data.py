"""AgentBench's tasks as tasks of this domain: their scripts make the machine when an episode begins."""

from __future__ import annotations

from pathlib import Path

from simia_gym.domain.data import DomainData, files_hash
from simia_gym.envs.os.agentbench.published import Published, read
from simia_gym.errors import InputError
from simia_gym.types import Task

OPTION = "agentbench"
"""The option of a task that holds its scripts."""


def load(path: Path) -> DomainData:
    """Load a file of AgentBench's tasks, but those that cannot be played here.

    Raises:
        InputError: As `read`; or no task can be played.
    """
    found = read(path)
    tasks = [_task(one) for one in found if not one.cause]
    if not tasks:
        what = f"none of its {len(found)} tasks can be played here: of the first, {found[0].cause}"
        raise InputError(what, where=str(path), fix="`simia verify-recorded os --data FILE --json` lists the causes.")
    files = sorted({path, *(file for one in found for file in one.files)})
    reward = "simia_gym.rewards.rubric:TaskCriteriaReward"
    return DomainData(tasks={"train": tasks}, reward=reward, hash=files_hash(files))


def _task(one: Published) -> Task:
    scripts = {name: [script.model_dump() for script in getattr(one, name)] for name in ("init", "start")}
    check = {"program": "simia_gym.envs.os.agentbench.solved:solved", **one.evaluation.model_dump(exclude_none=False)}
    about_answer = one.evaluation.match is not None or None in one.evaluation.check
    return Task(
        id=f"agentbench-{one.name}",
        split="train",
        kind="answer" if about_answer else "change",
        instruction=one.description,
        criteria=({"id": "solved", "kind": "goal", "check": check, "says": "As the benchmark asks."},),
        options={OPTION: scripts},
    )
