"""What models took, counted by role and by process."""

from __future__ import annotations

import pickle

import pytest

from simia_gym.llm.accounts import Accounts
from simia_gym.llm.types import Usage


def take(accounts: Accounts, number: int) -> None:
    """Something that depends on the number."""
    role = ("simulator", "judge")[number % 2]
    accounts.asked(role, 100 * number, 10 * number)
    if number % 5 == 0:
        accounts.failed(role, "timeout")
    accounts.answered(role, Usage(number, number // 2, 3), 0.01 * number, 0.003 * (number + 1))
    if number % 7 == 0:
        accounts.gave_up(role, "bad_reply")


def test_counts_that_were_drained_elsewhere_add_up() -> None:
    whole, driver, workers = Accounts(), Accounts(), [Accounts(), Accounts()]
    for number in range(60):
        take(whole, number)
        take(workers[number % 3 > 0], number)
        if number % 4 == 0:
            driver.add(pickle.loads(pickle.dumps(workers[number % 2].drain())))
    assert driver.snapshot() != whole.snapshot()
    for worker in workers:
        driver.add(worker.drain())
        assert worker.snapshot() == {}
    assert driver.snapshot() == whole.snapshot()


def test_accounts_count_by_role() -> None:
    counted = Accounts()
    for number in range(1, 101):
        counted.asked("user", 1000, 800)
        counted.answered("user", Usage(10, 5, 2), 0.5, number / 1000)
    counted.failed("user", "timeout")
    counted.asked("judge", 10, 0)
    counted.gave_up("judge", "budget")
    user, judge = counted.snapshot()["user"], counted.snapshot()["judge"]
    assert (user["calls"], user["tries"], user["retries"], user["failures"]) == (100, 101, 1, {"timeout": 1})
    assert (user["prompt_tokens"], user["cached_tokens"], user["completion_tokens"]) == (1000, 500, 200)
    assert (user["static_share"], user["cost_usd"]) == (0.8, 50.0)
    assert user["latency_ms"]["n"] == 100
    assert user["latency_ms"]["mean"] == pytest.approx(50.5)
    assert user["latency_ms"]["p50"] == pytest.approx(50, rel=0.06)
    assert user["latency_ms"]["p99"] == pytest.approx(99, rel=0.06)
    assert judge["latency_ms"] == {"n": 0, "mean": None, "p50": None, "p99": None}
    assert (judge["calls"], judge["faults"]) == (1, {"budget": 1})
