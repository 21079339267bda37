"""The order of tasks in a dataset of several environments."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from simia_gym.assembly.suite import Suite


def evenly(sources: Sequence[tuple[Suite, float]], rows: int | None) -> Iterator[tuple[int, int]]:
    """Every task once, alternating between the environments.

    Args:
        sources: Environments with weights, which are ignored here.
        rows: Maximum number of tasks; by default all.

    Yields:
        Index of the environment, and of the task in it.
    """
    sizes = [len(suite.tasks) for suite, _ in sources]
    left = sum(sizes) if rows is None else min(rows, sum(sizes))
    for position in range(max(sizes)):
        for source, size in enumerate(sizes):
            if position < size and left:
                left -= 1
                yield source, position


def mixed(sources: Sequence[tuple[Suite, float]], rows: int | None, seed: int) -> Iterator[tuple[int, int]]:
    """Shuffled tasks, mixed by the environments' weights: the environment furthest behind its share is next.

    Args:
        sources: Environments with weights.
        rows: Number of tasks; by default as many as there are.
        seed: Seed of the shuffling.

    Yields:
        Index of the environment, and of the task in it.
    """
    total = sum(weight for _, weight in sources)
    orders = [_shuffled(len(suite.tasks), f"{seed}/{suite.config.env}/{n}") for n, (suite, _) in enumerate(sources)]
    given = [0] * len(sources)
    for number in range(sum(len(suite.tasks) for suite, _ in sources) if rows is None else rows):
        behind = [(number + 1) * weight / total - have for (_, weight), have in zip(sources, given, strict=True)]
        source = max(range(len(sources)), key=lambda one: (behind[one], -one))
        given[source] += 1
        yield source, next(orders[source])


def _shuffled(size: int, seed: str) -> Iterator[int]:
    """All indices, repeatedly, each time in another order."""
    chance = random.Random(seed)
    while True:
        yield from chance.sample(range(size), size)
