"""The episodes of a plan by number, without making any task."""

from __future__ import annotations

from collections.abc import Iterator

from simia_gym.errors import InputError
from simia_gym.rl.cluster.assignments import Place
from simia_gym.rollout.jobs import Plan


def places_of(plan: Plan, tasks: int) -> Iterator[Place]:
    """The episodes of a plan by number, in the order of `simia_gym.rollout.jobs.make_jobs`; no task is made for it.

    Args:
        plan: The settings.
        tasks: How many tasks there are.

    Raises:
        InputError: There is none.
    """
    if not tasks:
        raise InputError("there is no task to run", where="--split", fix="Choose another split, or --generated N.")
    remaining, first = plan.total(tasks), 0
    while remaining:
        for position in range(tasks):
            for member in range(first, first + plan.group):
                if not remaining:
                    return
                remaining -= 1
                yield Place(position, member)
        first += plan.group
