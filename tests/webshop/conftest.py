"""The shop, loaded once, and a way to play an episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_inline
from simia_gym.envs.webshop.catalogue.catalogue import tables
from simia_gym.episode import Episode
from simia_gym.policies.load import load_policy
from simia_gym.rollout.play import play as play_to_the_end
from simia_gym.types import JsonObject, Task

Play = Callable[[str, Task, int], Episode]


@pytest.fixture(scope="session")
def suite() -> Suite:
    return load_suite(EnvConfig(env="simia/webshop-v0", split="all", generated=300))


@pytest.fixture(scope="session")
def products() -> Mapping[str, JsonObject]:
    return tables()["products"]


@pytest.fixture(scope="session")
def play(suite: Suite) -> Play:
    """Play a task with a policy by name and a seed; the episode is at its end."""

    def run(name: str, task: Task, seed: int) -> Episode:
        episode, policy = suite.episode(), load_policy(name, suite.domain.config.policies)()
        assert run_inline(play_to_the_end(episode, task, seed=seed, policy=policy, env=suite.config.env)) is None
        return episode

    return run
