"""A process in which episodes are played and that dies is noticed, also while nobody asks it anything."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

from .libraries import need

need("ray")

import ray

from simia_gym.rl.grpo.workers import WorkerWatch

from .ray_cluster import Cluster


@ray.remote(num_cpus=0)
class Player:
    """Stands for a worker of verl: asynchronous, and busy with what it was handed."""

    async def pid(self) -> int:
        return os.getpid()


@pytest.fixture
def players(cluster: Cluster) -> list[Any]:
    made = [Player.remote() for _ in range(2)]  # type: ignore[attr-defined]
    ray.get([player.pid.remote() for player in made])
    return made


def look(watch: WorkerWatch, times: int) -> None:
    """Look again and again for a while."""
    for _ in range(times):
        watch.look()
        time.sleep(0.02)


def test_who_lives_is_left_in_peace(players: list[Any]) -> None:
    look(WorkerWatch(lambda: players, every=0.0), 50)


def test_a_worker_that_was_killed_is_told(players: list[Any]) -> None:
    watch = WorkerWatch(lambda: players, every=0.0)
    watch.look()
    os.kill(ray.get(players[1].pid.remote()), signal.SIGKILL)
    with pytest.raises(RuntimeError, match="an agent loop worker has died"):
        look(watch, 1500)
