"""The number of requests in flight goes with what the server bears."""

from __future__ import annotations

import asyncio
import math
import os
import threading

import pytest

from simia_gym.llm.transport.limits import AdaptiveLimit, limit_of

from .server import ChatServer, error, model, request, says, waits


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def held(limit: AdaptiveLimit, number: int) -> None:
    for _ in range(number):
        await asyncio.wait_for(limit.acquire(), 1)


async def test_nothing_limits_before_the_server_does() -> None:
    limit = AdaptiveLimit()
    await held(limit, 500)
    assert limit.in_flight == 500
    assert limit.limit == math.inf


async def test_what_is_free_is_taken_at_once_but_not_from_those_who_wait() -> None:
    limit = AdaptiveLimit(2)
    assert [limit.take(), limit.take(), limit.take()] == [True, True, False]
    assert limit.in_flight == 2
    waiting = asyncio.create_task(limit.acquire())
    await asyncio.sleep(0)
    limit.release()
    assert not limit.take()
    await waiting
    limit.release()
    assert limit.take()
    assert limit.in_flight == 2


async def test_a_refusal_shrinks_once_a_pause() -> None:
    clock = Clock()
    limit = AdaptiveLimit(clock=clock)
    await held(limit, 100)
    limit.refused(None)
    limit.refused(None)
    assert limit.limit == 80
    clock.now = 1.1
    limit.refused(5.0)
    assert limit.limit == 64
    clock.now = 5.0
    limit.refused(5.0)
    assert limit.limit == 64
    clock.now = 6.2
    limit.refused(None)
    assert limit.limit == pytest.approx(51.2)


async def test_answers_let_it_grow_back_after_the_pause() -> None:
    clock = Clock()
    limit = AdaptiveLimit(20, clock)
    await held(limit, 20)
    limit.refused(3.0)
    assert limit.limit == 16
    limit.answered()
    assert limit.limit == 16
    clock.now = 3.1
    limit.failed()
    limit.answered()
    assert limit.limit == 16
    clock.now = 4.2
    for _ in range(1000):
        limit.answered()
    assert limit.limit == 20


async def test_it_does_not_grow_where_it_is_not_felt() -> None:
    clock = Clock()
    limit = AdaptiveLimit(clock=clock)
    await held(limit, 100)
    limit.refused(None)
    clock.now = 10.0
    for _ in range(60):
        limit.release()
    limit.answered()
    assert limit.limit == 80


async def test_it_never_falls_below_one() -> None:
    clock = Clock()
    limit = AdaptiveLimit(clock=clock)
    await held(limit, 3)
    for step in range(40):
        clock.now = 2.0 * step
        limit.refused(None)
    assert limit.limit == 1
    for _ in range(3):
        limit.release()
    await held(limit, 1)


async def test_those_who_wait_come_in_order_and_may_give_up() -> None:
    limit = AdaptiveLimit(1)
    await held(limit, 1)
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


async def test_a_permit_that_was_granted_to_somebody_cancelled_goes_on() -> None:
    limit = AdaptiveLimit(1)
    await held(limit, 1)
    first = asyncio.create_task(limit.acquire())
    second = asyncio.create_task(limit.acquire())
    await asyncio.sleep(0)
    limit.release()
    first.cancel()
    await asyncio.wait_for(second, 1)
    assert limit.in_flight == 1


def test_several_loops_share_one_limit() -> None:
    limit = AdaptiveLimit(2)
    most = 0
    lock = threading.Lock()

    async def one() -> None:
        nonlocal most
        await limit.acquire()
        with lock:
            most = max(most, limit.in_flight)
        await asyncio.sleep(0.001)
        limit.release()

    async def many() -> None:
        await asyncio.wait_for(asyncio.gather(*(one() for _ in range(50))), 20)

    threads = [threading.Thread(target=asyncio.run, args=(many(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 2
    assert limit.in_flight == 0


def test_one_limit_per_model_with_the_lowest_ceiling() -> None:
    first = limit_of("http://x/v1", "one", 8)
    assert limit_of("http://x/v1", "one", 5) is first
    assert limit_of("http://x/v1", "one") is first
    assert first.limit == 5
    assert limit_of("http://x/v1", "two") is not first


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
async def test_a_forked_process_has_nothing_in_flight() -> None:
    limit = AdaptiveLimit(1)
    await held(limit, 1)
    child = os.fork()
    if child == 0:
        os._exit(0 if limit.in_flight == 0 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert limit.in_flight == 1


async def test_a_server_that_refuses_gets_fewer_requests(server: ChatServer) -> None:
    def overloaded(_: object, body: dict[str, object]) -> object:
        return error(429)(None, body) if server.flying > 8 else None  # type: ignore[arg-type]

    async def answer(asked: object, body: dict[str, object]) -> object:
        refusal = overloaded(asked, body)
        if refusal is not None:
            return refusal
        return await waits(0.02, says("Hello"))(asked, body)  # type: ignore[arg-type, misc]

    server.answers = [answer]  # type: ignore[list-item]
    one = model(server, retries=50, backoff=0.02)
    replies = await asyncio.gather(*(one.complete(request()) for _ in range(60)))
    assert [reply.text for reply in replies] == ["Hello"] * 60
    assert limit_of(server.url, "m").limit < 60
