"""The shop, loaded once, and a way to play an episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import run_sync
from simia_gym.envs.webshop.catalogue.catalogue import tables
from simia_gym.episode import Episode
from simia_gym.policies.base import PolicyStart
from simia_gym.policies.load import load_policy
from simia_gym.types import JsonObject, Step, Task


class Played(NamedTuple):
    """An episode after its end."""

    episode: Episode
    last: Step


Play = Callable[[str, Task, int], Played]


@pytest.fixture(scope="session")
def suite() -> Suite:
    return load_suite(EnvConfig(env="simia/webshop-v0", split="all", generated=300))


@pytest.fixture(scope="session")
def products() -> Mapping[str, JsonObject]:
    return tables()["products"]


@pytest.fixture(scope="session")
def play(suite: Suite) -> Play:
    """Play a task with a policy by name and a seed."""

    def run(name: str, task: Task, seed: int) -> Played:
        domain = suite.domain
        policy: Any = load_policy(name, domain.config.policies)()
        if hasattr(policy, "start"):
            samples = tuple(domain.config.samples)
            policy.start(PolicyStart(suite.config.env, seed, domain.tools, domain.grammar, samples))
        episode = suite.episode()
        run_sync(episode.reset(task, seed=seed), inline=True)
        while True:
            step = run_sync(episode.step(policy.act(episode.messages)), inline=True)
            if step.terminated or step.truncated:
                return Played(episode, step)

    return run
