"""How many episodes a budget lets begin, whatever the order in which those in flight get their answers."""

from __future__ import annotations

import asyncio
import random
from itertools import cycle, islice

import pytest

from simia_gym.errors import Fault
from simia_gym.llm.budget import Budget
from simia_gym.rollout.pacing import Pacing

LENGTHS = (6, 4, 5, 5, 4, 2, 3, 5, 5, 4)
"""Calls of an episode each; their mean is 4.3."""


async def play(limit: int | None, episodes: int, seed: int) -> tuple[int, int, int]:
    """Play episodes that wait for each answer for as long as chance says: how many ended, failed, and were at once."""
    chance, budget = random.Random(seed), Budget(max_calls=limit)
    pacing, done, faults, flying, most = Pacing(budget), 0, 0, 0, 0
    over = asyncio.Event()

    async def episode(calls: int, patience: int) -> None:
        nonlocal done, faults, flying, most
        async with pacing.episode():
            if over.is_set():
                return
            flying, most = flying + 1, max(most, flying + 1)
            try:
                for _ in range(calls):
                    for _ in range(chance.randrange(patience)):
                        await asyncio.sleep(0)
                    budget.settle(budget.reserve("simulator", 0, 0.0), 0, 0.0)
                done += 1
            except Fault:
                faults += 1
                over.set()
            finally:
                flying -= 1

    await asyncio.gather(*(episode(calls, chance.choice((1, 4, 16))) for calls in islice(cycle(LENGTHS), episodes)))
    return done, faults, most


@pytest.mark.parametrize(("limit", "fewest", "most_at_once"), [(40, 9, 2), (200, 42, 8), (1000, 228, 15)])
async def test_few_episodes_begin_that_the_budget_does_not_finish(limit: int, fewest: int, most_at_once: int) -> None:
    for seed in range(10):
        done, faults, most = await play(limit, min(limit, 300), seed)
        assert done >= fewest
        assert 1 <= faults <= 5
        assert most >= most_at_once


async def test_without_a_limit_all_begin() -> None:
    done, faults, most = await play(None, 100, 0)
    assert (done, faults) == (100, 0)
    assert most > 40
