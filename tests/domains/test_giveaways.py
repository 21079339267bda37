"""What customers of a service say, and when, does not tell what the rules allow."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.verdict_leak import agents, auc, listen, service_of, trick
from simia_gym.types import Task

from ..sweeps import sizes
from .table import World
from .test_services import generator

SURE = 3.3
"""Spreads above one half that are too many: by chance one test in 2,000 finds more, so one in 150 of all those here."""


@cache
def tasks(serving: World, count: int) -> list[Task]:
    return [generator(serving)("train", index) for index in range(count)]


@pytest.mark.parametrize("number", sizes(60, 500))
@pytest.mark.parametrize("agent", ["refuses", "delays", "proposes and backs out"])
@pytest.mark.sampled
def test_what_customers_say_and_when_is_independent_of_the_rules(serving: World, agent: str, number: int) -> None:
    suite = serving.suite(simulator="world")
    service = service_of(suite)
    talks = listen(suite, service, agents(service)[agent], tasks(serving, number), service.declared.slots)
    assert sum(talk.forbidden for talk in talks) > 0.2 * number
    found = auc(talks)
    low, high = found["interval"]
    assert found["auc"] - 0.5 <= SURE * (high - low) / (2 * 1.96), found


@pytest.mark.slow
def test_to_refuse_once_and_listen_is_worth_nothing(serving: World) -> None:
    suite = serving.suite(simulator="world")
    solved = trick(suite, service_of(suite), tasks(serving, 100))
    assert solved["grants everything"] > 40
    assert solved["refuses once and listens"] <= 0.05 * 100
