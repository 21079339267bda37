"""The number of requests in flight goes with what the server bears."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from simia_gym.llm.transport.limits import AdaptiveLimit, limit_of

from ..model_server import Asked, ModelServer
from .server import error, model, request, says, waits


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def held(number: int, ceiling: int | None = None) -> tuple[AdaptiveLimit, Clock]:
    """A limit of which so many permits are held, and its clock."""
    clock = Clock()
    limit = AdaptiveLimit(ceiling, clock)
    for _ in range(number):
        await asyncio.wait_for(limit.acquire(), 1)
    return limit, clock


async def test_a_refusal_shrinks_once_a_pause() -> None:
    limit, clock = await held(100)
    assert limit.limit == math.inf
    for clock.now, pause, left in ((0, None, 80), (0, None, 80), (1.1, 5, 64), (5, 5, 64), (6.2, None, 51.2)):
        limit.refused(pause)
        assert limit.limit == pytest.approx(left)
    for step in range(40):
        clock.now = 10 + 2.0 * step
        limit.refused(None)
    assert limit.limit == 1
    for _ in range(100):
        limit.release()
    await asyncio.wait_for(limit.acquire(), 1)


async def test_answers_let_it_grow_back_after_the_pause() -> None:
    limit, clock = await held(20, ceiling=20)
    limit.refused(3.0)
    limit.answered()
    assert limit.limit == 16
    clock.now = 3.1
    for _ in range(1000):
        limit.answered()
    assert limit.limit == 20


async def test_it_does_not_grow_where_it_is_not_felt() -> None:
    limit, clock = await held(100)
    limit.refused(None)
    clock.now = 10.0
    for _ in range(60):
        limit.release()
    limit.answered()
    assert limit.limit == 80


async def test_those_who_wait_come_in_order_and_may_give_up() -> None:
    limit, _ = await held(1, ceiling=1)
    order: list[int] = []

    async def one(number: int) -> None:
        await limit.acquire()
        order.append(number)
        await asyncio.sleep(0)
        limit.release()

    tasks = [asyncio.create_task(one(number)) for number in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.sleep(0)
    limit.release()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [0, 2, 3]
    assert limit.in_flight == 0


def test_one_limit_per_model_with_the_lowest_ceiling() -> None:
    first = limit_of("http://x/v1", "one", 8)
    assert limit_of("http://x/v1", "one", 5) is first
    assert limit_of("http://x/v1", "one") is first
    assert first.limit == 5
    assert limit_of("http://x/v1", "two") is not first


async def test_a_server_that_refuses_gets_fewer_requests(server: ModelServer) -> None:
    async def answer(asked: Asked) -> Any:
        return await (waits(0.02, says("Hello")) if server.flying <= 8 else waits(0, error(429)))(asked)

    server.answers = [answer]
    one = model(server, retries=50, backoff=0.02)
    replies = await asyncio.gather(*(one.complete(request()) for _ in range(60)))
    assert [reply.text for reply in replies] == ["Hello"] * 60
    assert limit_of(server.url, "m").limit < 60
