"""Pinned answers that processes share through a real Ray actor, and what becomes of claims whose holder is gone."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from simia_gym.errors import Fault
from simia_gym.types import JsonObject

from ..simulators.test_pins import maker
from ..work import wait_until
from .libraries import need
from .ray_cluster import Cluster

need("ray")
pytestmark = pytest.mark.slow_rl

LEASE = 1.5


class Asker:
    """A process that asks for pinned answers."""

    def __init__(self, pins: Any) -> None:
        self._pins = pins

    def pid(self) -> int:
        return os.getpid()

    def ask(self, keys: list[str], log: str, *, wait: float = 0.1) -> list[tuple[JsonObject, bool]]:
        async def one(key: str) -> tuple[JsonObject, bool]:
            async def make() -> JsonObject:
                with open(log, "a") as file:
                    file.write(f"{key} {os.getpid()}\n")
                await asyncio.sleep(wait)
                return {"by": os.getpid(), "key": key}

            return await self._pins.answer(key, make)  # type: ignore[no-any-return]

        async def all_of_them() -> list[tuple[JsonObject, bool]]:
            return list(await asyncio.gather(*map(one, keys)))

        return asyncio.run(all_of_them())


@pytest.fixture
def pins(cluster: Cluster) -> Any:
    from simia_gym.rl.cluster.pins import RayPins

    store = RayPins(f"pins-{time.monotonic_ns()}", lease=LEASE)
    asyncio.run(store.answer("first", maker([])))  # the actor runs
    yield store
    store.close()


async def test_where_making_fails_the_next_one_tries(pins: Any) -> None:
    async def fail() -> JsonObject:
        await asyncio.sleep(0.05)
        raise Fault("timeout", "no answer", role="simulator")

    log: list[str] = []
    results = await asyncio.gather(pins.answer("k", fail), pins.answer("k", maker(log)), return_exceptions=True)
    assert isinstance(results[0], Fault)
    assert results[1] == ({"answer": "made"}, False)


async def test_who_is_cancelled_while_waiting_holds_nothing(pins: Any) -> None:
    other = pickle.loads(pickle.dumps(pins))
    log: list[str] = []
    first = asyncio.create_task(pins.answer("k", maker(log, "first", wait=0.4)))
    await asyncio.sleep(0.1)
    waiting = asyncio.create_task(other.answer("k", maker(log, "waiting")))
    await asyncio.sleep(0.1)
    waiting.cancel()
    first.cancel()
    await asyncio.gather(first, waiting, return_exceptions=True)
    async with asyncio.timeout(LEASE / 2):
        assert await pins.answer("k", maker(log, "third")) == ({"answer": "third"}, False)


def test_processes_make_every_answer_once_between_them(pins: Any, cluster: Cluster, tmp_path: Path) -> None:
    ray, log = cluster.ray, tmp_path / "made.txt"
    askers = [ray.remote(Asker).options(num_cpus=0).remote(pins) for _ in range(2)]
    keys = [f"key {n}" for n in range(40)]
    answers = ray.get([asker.ask.remote(keys, str(log)) for asker in askers], timeout=60)
    assert len(log.read_text().splitlines()) == len(keys)
    assert [answer for answer, _ in answers[0]] == [answer for answer, _ in answers[1]]
    assert sum(not shared for found in answers for _, shared in found) == len(keys)
    assert {answer["by"] for answer, _ in answers[0]} <= set(ray.get([asker.pid.remote() for asker in askers]))


def test_a_claimer_that_is_killed_loses_its_claim(pins: Any, cluster: Cluster, tmp_path: Path) -> None:
    ray, log = cluster.ray, tmp_path / "made.txt"
    doomed, heir = (ray.remote(Asker).options(num_cpus=0, max_restarts=0).remote(pins) for _ in range(2))
    pid = ray.get(doomed.pid.remote(), timeout=60)
    doomed.ask.remote(["k"], str(log), wait=600)
    while not log.exists():
        time.sleep(0.05)
    waits = heir.ask.remote(["k"], str(log))
    time.sleep(0.3)
    os.kill(pid, signal.SIGKILL)
    ((answer, shared),) = ray.get(waits, timeout=60)
    assert answer["by"] != pid
    assert not shared


def test_a_claimer_that_computes_for_long_keeps_its_claim(pins: Any) -> None:
    other = pickle.loads(pickle.dumps(pins))
    log: list[str] = []

    async def busy() -> JsonObject:
        time.sleep(2 * LEASE)  # never yields to its loop
        return {"answer": "busy"}

    async def both() -> tuple[JsonObject, bool]:
        waits = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(pins.answer("k", busy))))
        await asyncio.sleep(0.3)
        found: tuple[JsonObject, bool] = await other.answer("k", maker(log))
        await waits
        return found

    assert asyncio.run(both()) == ({"answer": "busy"}, True)
    assert log == []


async def test_where_the_actor_is_lost_there_is_a_fault_and_no_answer_of_ones_own(cluster: Cluster) -> None:
    from simia_gym.rl.cluster.pins import RayPins

    pins = RayPins("lost", lease=LEASE)
    pins.close()
    log: list[str] = []
    with pytest.raises(Fault) as caught:
        await pins.answer("k", maker(log))
    assert (caught.value.kind, caught.value.role) == ("pin_store", "simulator")
    assert log == []


class Player:
    """A process that plays the episodes of a training."""

    def __init__(self, run: str) -> None:
        from simia_gym.rl.grpo.in_verl.worlds import RunSettings, Worlds

        worlds = Worlds(RunSettings(run=run, workers=2, max_calls=5, max_cost=2.0))
        self._resources = worlds.suite('{"env":"simia/webshop-v0"}').resources
        self._pins: Any = self._resources.pins

    def ask(self, log: str) -> tuple[JsonObject, bool]:
        async def make() -> JsonObject:
            with open(log, "a") as file:
                file.write("made\n")
            return {"answer": 1}

        found: tuple[JsonObject, bool] = asyncio.run(self._pins.answer("k", make))
        return found

    def name(self) -> str:
        return str(self._pins.name)

    def limits(self) -> Any:
        budget = self._resources.budget
        return budget and (budget.max_calls, budget.max_tokens, budget.max_cost)


def test_pins_do_not_start_ray_again_after_its_shutdown() -> None:
    code = """
import asyncio, threading, ray
ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
from simia_gym.rl.cluster.pins import RayPins

async def make():
    return {"answer": 1}

pins = RayPins("over", lease=0.3)
print(asyncio.run(pins.answer("k", make)))
ray.shutdown()
for thread in threading.enumerate():
    if thread.name == "simia-pins":
        thread.join()
print(ray.is_initialized())
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout.splitlines() == ["({'answer': 1}, False)", "False"], done.stderr


def test_the_answers_of_a_training_end_with_it(cluster: Cluster, tmp_path: Path) -> None:
    ray, log = cluster.ray, tmp_path / "made.txt"
    players = [ray.remote(Player).options(num_cpus=0).remote(str(tmp_path)) for _ in range(2)]
    assert ray.get([player.ask.remote(str(log)) for player in players], timeout=60)[0][0] == {"answer": 1}
    assert log.read_text() == "made\n"
    assert ray.get(players[1].limits.remote()) == (2, None, 1.0), "limits are divided among the processes"
    name = ray.get(players[0].name.remote())
    assert name.endswith(ray.get_runtime_context().get_job_id())  # another start at the same path is another job
    for player in players:
        ray.kill(player)
    wait_until(lambda: name not in [one["name"] for one in ray.util.list_named_actors(all_namespaces=True)])
