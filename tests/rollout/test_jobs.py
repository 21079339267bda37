from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.errors import InputError
from simia_gym.rollout import jobs as module
from simia_gym.rollout.jobs import Job, Plan, episode_seed
from simia_gym.types import Task

TASKS = [Task(id=f"t{n}", split="train", kind="x") for n in range(3)]


def make_jobs(plan: Plan, tasks: Sequence[Task]) -> Iterator[Job]:
    for job in module.make_jobs(plan, tasks):
        assert isinstance(job, Job)
        yield job


def plan(group: int = 1, episodes: int | None = None, seed: int = 0, policy: str = "p", env: str = "e") -> Plan:
    return Plan(EnvConfig(env=env), "hash", policy, seed=seed, group=group, episodes=episodes)


def test_tasks_times_group() -> None:
    jobs = list(make_jobs(plan(group=2), TASKS))
    assert [(job.task.id, job.member) for job in jobs] == [(t.id, m) for t in TASKS for m in range(2)]
    assert plan(group=2).total(3) == 6


def test_members_of_a_group_share_task_and_group_and_nothing_else() -> None:
    jobs = list(make_jobs(plan(group=4), TASKS))
    assert Counter(job.group for job in jobs) == {"t0#0": 4, "t1#0": 4, "t2#0": 4}
    assert len({job.seed for job in jobs}) == len({job.key for job in jobs}) == 12


@pytest.mark.parametrize("episodes", [2, 4, 6, 8, 14])
def test_episodes_is_the_total(episodes: int) -> None:
    jobs = list(make_jobs(plan(group=2, episodes=episodes), TASKS))
    assert len(jobs) == episodes == plan(group=2, episodes=episodes).total(3)
    assert len({job.key for job in jobs}) == episodes


def test_tasks_are_gone_through_again_in_new_groups() -> None:
    jobs = list(make_jobs(plan(group=2, episodes=10), TASKS))
    assert [(job.task.id, job.member, job.group) for job in jobs[6:]] == [
        ("t0", 2, "t0#1"),
        ("t0", 3, "t0#1"),
        ("t1", 2, "t1#1"),
        ("t1", 3, "t1#1"),
    ]


def test_seeds_are_the_same_in_every_process() -> None:
    code = "from simia_gym.rollout.jobs import episode_seed as s; print([s(1, 'tä', m) for m in range(3)])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == str([episode_seed(1, "tä", member) for member in range(3)])
    assert episode_seed(1, "t", 0) != episode_seed(2, "t", 0) != episode_seed(2, "u", 0)


def test_key_depends_on_everything_that_matters() -> None:
    base = next(make_jobs(plan(), TASKS)).key
    other = [
        next(make_jobs(plan(seed=1), TASKS)),
        next(make_jobs(plan(policy="q"), TASKS)),
        next(make_jobs(plan(env="f"), TASKS)),
        next(make_jobs(replace(plan(), policy_hash="0"), TASKS)),
        next(make_jobs(plan(), [Task(id="t0", split="train", kind="y")])),
    ]
    assert len({base, *(job.key for job in other)}) == 6
    assert next(make_jobs(plan(group=3, episodes=9), TASKS)).key == base


@pytest.mark.parametrize("settings", [{"group": 0}, {"episodes": 0}, {"seed": -1}])
def test_impossible_numbers(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="at least"):
        plan(**settings)


@pytest.mark.parametrize(("episodes", "torn"), [(4, 1), (2, 2), (6, 0), (None, 0)])
def test_a_torn_group_is_known(episodes: int | None, torn: int) -> None:
    assert plan(group=3, episodes=episodes).torn == torn


def test_no_tasks() -> None:
    with pytest.raises(InputError, match="no task"):
        next(make_jobs(plan(), []))
