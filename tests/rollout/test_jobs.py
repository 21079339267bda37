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


def test_tasks_times_group_is_the_default() -> None:
    jobs = list(make_jobs(plan(group=4), TASKS))
    assert [(job.task.id, job.member) for job in jobs] == [(t.id, m) for t in TASKS for m in range(4)]
    assert Counter(job.group for job in jobs) == {"t0#0": 4, "t1#0": 4, "t2#0": 4}
    assert len({job.seed for job in jobs}) == len({job.key for job in jobs}) == 12


@pytest.mark.parametrize("episodes", [2, 4, 6, 9, 14])
def test_tasks_are_gone_through_again_in_new_groups(episodes: int) -> None:
    jobs = list(make_jobs(plan(group=2, episodes=episodes), TASKS))
    found = [(job.task.id, job.member, job.group) for job in jobs]
    places = [(f"t{n}", 2 * again + m, f"t{n}#{again}") for again in range(3) for n in range(3) for m in range(2)]
    assert found == places[:episodes]
    made = plan(group=2, episodes=episodes)
    assert (made.total(3), made.torn) == (episodes, episodes % 2)
    assert len({job.key for job in jobs}) == episodes


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


def test_no_tasks() -> None:
    with pytest.raises(InputError, match="no task"):
        next(make_jobs(plan(), []))
