"""Tasks of a kind: each kind has as many as are asked for, and they are found again by their ids."""

from __future__ import annotations

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.domain.registration import env_ids
from simia_gym.errors import InputError
from simia_gym.rollout.jobs import choose
from simia_gym.synth.played import TasksOfKind

MANY = 2_000_000_000


def suite_of(env: str, generated: int = MANY) -> Suite:
    return load_suite(EnvConfig(env=env, split="train", generated=generated, simulator="world"))


@pytest.mark.parametrize("env", env_ids())
def test_each_kind_has_several_tasks(env: str) -> None:
    suite = suite_of(env)
    tasks = TasksOfKind(suite)
    kinds = tasks.kinds()
    assert {task.kind for task in suite.tasks.fixed} <= set(kinds)
    some = [*kinds[:2], *[kind for kind in kinds if kind in ("withheld", "combined_three")]]
    ids = [tasks.get(kind, number) for kind in some for number in range(5)]
    assert None not in ids
    assert len(set(ids)) == len(ids)
    found = [suite.domain.find_task(str(name)) for name in ids]
    assert [task.kind for task in found] == [kind for kind in some for _ in range(5)]
    places = choose(suite.tasks, [task.id for task in found])
    assert places is not None
    assert [suite.tasks[place].id for place in places] == ids


def test_a_kind_that_is_nowhere_ends_at_once() -> None:
    assert TasksOfKind(suite_of("simia/retail-v0")).get("nothing", 0) is None
    assert TasksOfKind(suite_of("simia/os-v0", 5)).get("nothing", 0) is None


def test_without_generated_tasks_a_kind_ends_with_the_fixed_ones() -> None:
    suite = suite_of("simia/retail-v0", 0)
    tasks, kind = TasksOfKind(suite), suite.tasks[0].kind
    assert tasks.get(kind, 0) == suite.tasks[0].id
    assert tasks.get(kind, 1) is None


def test_an_id_of_no_task_among_very_many_is_refused() -> None:
    tasks = suite_of("simia/webshop-v0").tasks
    with pytest.raises(InputError, match="there is no task 'nobody-train-g000007'"):
        choose(tasks, ["nobody-train-g000007"])
