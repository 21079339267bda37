"""AgentBench's tasks as tasks of this domain: their scripts make the machine when an episode begins."""

from __future__ import annotations

from pathlib import Path

from simia_gym.domain.data import DomainData, files_hash
from simia_gym.envs.os.agentbench.published import Published, read
from simia_gym.types import Task

OPTION = "agentbench"
"""The option of a task that holds its scripts and how it is judged."""


def load(path: Path) -> DomainData:
    """Load a file of AgentBench's tasks, but those that cannot be played here.

    Raises:
        InputError: As `read`.
    """
    found = read(path)
    tasks = [_task(one) for one in found if not one.cause]
    files = sorted({path, *(file for one in found for file in one.files)})
    reward = "simia_gym.envs.os.agentbench.solved:AgentBenchReward"
    return DomainData(tasks={"train": tasks}, reward=reward, hash=files_hash(files))


def _task(one: Published) -> Task:
    return Task(
        id=f"agentbench-{one.name}",
        split="train",
        kind="answer" if one.evaluation.about_answer else "change",
        instruction=one.description,
        options={
            OPTION: {
                "init": [script.model_dump() for script in one.init],
                "start": [script.model_dump() for script in one.start],
                "evaluation": one.evaluation.model_dump(),
            }
        },
    )
