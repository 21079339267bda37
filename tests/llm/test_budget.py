"""What models took, and what they may take."""

from __future__ import annotations

import asyncio
import pickle
import threading
from typing import Any

import pytest

from simia_gym.errors import Fault, InputError
from simia_gym.llm.accounts import Accounts
from simia_gym.llm.budget import FIRST_REPLY, Budget
from simia_gym.llm.settings import ModelSettings
from simia_gym.llm.types import Usage

from ..model_server import Answer, ModelServer
from .server import error, model, request, says, waits


async def test_tries_are_limited_hard(server: ModelServer) -> None:
    server.answers = [error(500), waits(0.02, says("Hello"))]
    one = model(server, budget=Budget(max_calls=5), concurrency=4)
    results = await asyncio.gather(*(one.complete(request()) for _ in range(20)), return_exceptions=True)
    faults = [result for result in results if isinstance(result, Fault)]
    assert len(server.bodies) == 5
    assert {fault.kind for fault in faults} == {"budget"}
    assert len(faults) == 16
    assert "5 calls" in str(faults[0])


async def test_tokens_and_cost_are_settled_with_what_was_taken(server: ModelServer) -> None:
    budget = Budget(max_tokens=300, max_cost=1.0)
    counted = Accounts()
    one = model(server, budget=budget, accounts=counted, price_in=1000.0, price_cached=100.0, price_out=2000.0)
    asked = request()
    await one.complete(asked)
    # 40 fresh, 60 cached, 10 written
    assert budget.snapshot()["tokens"] == 110
    assert budget.snapshot()["cost_usd"] == pytest.approx(0.04 + 0.006 + 0.02)
    spent = counted.snapshot()["simulator"]
    assert spent["cost_usd"] == pytest.approx(0.066)
    assert (spent["prompt_bytes"], spent["static_bytes"]) == (asked.prompt.size, asked.prompt.static)
    assert 0 < spent["static_share"] < 1
    await one.complete(request())
    await one.complete(request())
    with pytest.raises(Fault, match="300 tokens"):
        await one.complete(request())
    assert budget.idle
    assert counted.snapshot()["simulator"]["faults"] == {"budget": 1}


def long_reply(tokens: int) -> Answer:
    return waits(0.2, says("Hello", usage={"prompt_tokens": 10, "completion_tokens": tokens}))


@pytest.mark.parametrize("longest", [None, FIRST_REPLY])
@pytest.mark.parametrize("limits", [{"max_tokens": 2500}, {"max_cost": 2.5}])
async def test_requests_in_flight_do_not_pass_the_budget_together(
    limits: dict[str, Any], longest: int | None, server: ModelServer
) -> None:
    server.answers = [long_reply(FIRST_REPLY)]
    budget = Budget(**limits)
    one = model(server, budget=budget, price_in=1000.0, price_out=1000.0, max_tokens=longest)
    results = await asyncio.gather(*(one.complete(request()) for _ in range(10)), return_exceptions=True)
    # Two fit. Where how long a reply becomes is only guessed, the third is sent alone; then nothing is left.
    sent = 2 if longest else 3
    assert (server.most, len(server.bodies)) == (2, sent)
    assert sum(isinstance(result, Fault) and result.kind == "budget" for result in results) == 10 - sent
    assert budget.snapshot()["tokens"] == sent * (FIRST_REPLY + 10)
    assert budget.idle


async def test_how_long_a_reply_becomes_is_learned_for_each_role(server: ModelServer) -> None:
    server.answers = [long_reply(20)]
    budget = Budget(max_tokens=3 * FIRST_REPLY)
    one = model(server, budget=budget)
    assert budget.reply_tokens("simulator") == FIRST_REPLY
    await one.complete(request())
    assert (budget.reply_tokens("simulator"), budget.reply_tokens("judge")) == (20, FIRST_REPLY)
    await asyncio.gather(*(one.complete(request()) for _ in range(10)))
    assert server.most == 10
    server.answers = [long_reply(200), long_reply(20)]
    await one.complete(request())
    await one.complete(request())
    assert budget.reply_tokens("simulator") == 200


async def use(budget: Budget, reserved: float, cost: float, seconds: float = 0.001) -> None:
    reservation = await budget.admit("judge", 0, reserved)
    await asyncio.sleep(seconds)
    budget.settle(reservation, 0, cost)


async def test_fractions_that_are_left_over_stand_in_nobodys_way() -> None:
    budget = Budget(max_cost=0.7)
    for reservation in [budget.reserve("judge", 0, cost) for cost in (0.1, 0.2, 0.3)]:
        budget.settle(reservation, 0, 0.0)
    await asyncio.wait_for(use(budget, 0.7, 0.0), 5)


async def test_a_cancelled_wait_takes_nothing() -> None:
    budget = Budget(max_calls=3, max_cost=1.0)
    first = budget.reserve("judge", 0, 0.9)
    waiting = [asyncio.create_task(use(budget, cost, 0.1)) for cost in (0.95, 0.3, 0.2)]
    await asyncio.sleep(0.01)
    waiting[0].cancel()  # the head of the queue: the others do not fit yet
    await asyncio.sleep(0.01)
    assert [task.done() for task in waiting] == [True, False, False]
    budget.settle(first, 0, 0.1)
    waiting[1].cancel()  # it has been let through, and does not know yet
    await asyncio.wait_for(waiting[2], 5)
    assert waiting[1].cancelled()
    assert (budget.snapshot()["calls"], budget.snapshot()["cost_usd"], budget.idle) == (2, 0.2, True)


async def test_a_cancelled_wait_lets_those_behind_it_through() -> None:
    budget = Budget(max_cost=1.0)
    first = budget.reserve("judge", 0, 0.5)
    large, small = (asyncio.create_task(use(budget, cost, 0.1)) for cost in (0.9, 0.4))
    await asyncio.sleep(0.01)
    large.cancel()
    await asyncio.wait_for(small, 5)
    budget.settle(first, 0, 0.1)


def test_loops_of_several_threads_wait_for_each_other() -> None:
    budget = Budget(max_cost=1.0)
    failed: list[BaseException] = []

    async def ask() -> None:
        await asyncio.wait_for(asyncio.gather(*(use(budget, 0.4, 0.001) for _ in range(50))), 20)

    def run() -> None:
        try:
            asyncio.run(ask())
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert (budget.snapshot()["calls"], budget.snapshot()["cost_usd"], budget.idle) == (200, 0.2, True)


def test_who_waits_on_a_loop_that_was_closed_takes_nothing() -> None:
    budget = Budget(max_cost=1.0)
    first = budget.reserve("judge", 0, 0.9)
    loop = asyncio.new_event_loop()
    task = loop.create_task(use(budget, 0.5, 0.1))
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    budget.settle(first, 0, 0.1)
    assert budget.idle
    assert budget.snapshot()["calls"] == 1
    task._log_destroy_pending = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("usage", [None, "no object", {}, {"prompt_tokens": 0, "completion_tokens": 0}])
async def test_what_a_server_does_not_count_is_estimated(server: ModelServer, usage: Any) -> None:
    words = "long " * 100
    server.answers = [says(words, usage=usage)]
    counted, budget = Accounts(), Budget(max_tokens=450)
    one = model(server, accounts=counted, budget=budget, price_in=1000.0, price_out=2000.0)
    reply = await one.complete(request())
    assert reply.usage == Usage()
    spent = counted.snapshot()["simulator"]
    assert spent["estimated"] == 1
    assert spent["prompt_tokens"] == len(server.asked[0].text) // 4
    assert 125 <= spent["completion_tokens"] <= 150
    assert spent["cost_usd"] == pytest.approx((spent["prompt_tokens"] + 2 * spent["completion_tokens"]) / 1000)
    assert budget.snapshot()["tokens"] == spent["prompt_tokens"] + spent["completion_tokens"]
    await one.complete(request())
    await one.complete(request())
    with pytest.raises(Fault, match="450 tokens is used up"):
        await one.complete(request())
    server.answers = [says("Hello")]
    await model(server, accounts=counted).complete(request())
    assert counted.snapshot()["simulator"]["estimated"] == len(server.bodies) - 1


def test_prices() -> None:
    assert ModelSettings(price_in=2.0).price(1_000_000, 500_000, 7) == pytest.approx(2.0)
    assert ModelSettings(price_in=2.0, price_cached=1.0, price_out=4.0).price(2_000_000, 1_000_000, 1_000_000) == 7.0


@pytest.mark.parametrize(
    "limits", [{"max_calls": 0}, {"max_tokens": -1}, {"max_cost": 0.0}, {"max_cost": float("nan")}]
)
def test_impossible_limits(limits: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(limits))):
        Budget(**limits)


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
