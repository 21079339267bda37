"""A small environment, and a policy that waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.cli.new_domain import write_domain
from simia_gym.domain.registration import CUSTOM
from simia_gym.policies import Policy
from simia_gym.record.records import Record, read_records
from simia_gym.rollout.jobs import Plan
from simia_gym.rollout.pool import Pool
from simia_gym.rollout.store import create_store, resume_store
from simia_gym.rollout.summary import Summary
from simia_gym.types import Message


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("domains") / "desk"
    write_domain(path, json=False)
    return path


@pytest.fixture
def suite(folder: Path) -> Suite:
    return load_suite(EnvConfig(env=CUSTOM, domain=str(folder), split="all"))


@pytest.fixture
def expert(suite: Suite) -> Callable[[], Policy]:
    return suite.load_policy("expert")


class Waiting:
    """Waits before every action, as a model would; knows how many of its kind wait at once."""

    waiting = most = 0

    def __init__(self, inner: Policy, seconds: float) -> None:
        self._inner, self._seconds = inner, seconds

    async def act(self, messages: Sequence[Message]) -> str:
        Waiting.waiting += 1
        Waiting.most = max(Waiting.most, Waiting.waiting)
        try:
            await asyncio.sleep(self._seconds)
        finally:
            Waiting.waiting -= 1
        text = self._inner.act(messages)
        assert isinstance(text, str)
        return text


class Roll:
    """Runs a rollout of the small environment."""

    def __init__(self, suite: Suite, path: Path) -> None:
        self.suite, self.path = suite, path

    def plan(self, **settings: Any) -> Plan:
        return Plan(**{"config": self.suite.config, "domain_hash": self.suite.domain.hash, "policy": "p", **settings})

    def __call__(
        self,
        make: Callable[[], Policy],
        *,
        resume: bool = False,
        concurrency: int = 8,
        timeout: float | None = None,
        on_done: Callable[[Record], None] | None = None,
        **settings: Any,
    ) -> Summary:
        plan = self.plan(**settings)
        pool = Pool(self.suite, plan, make, concurrency=concurrency, timeout=timeout, on_done=on_done)
        with resume_store(self.path, plan) if resume else create_store(self.path) as store:
            return asyncio.run(pool.run(store))

    @property
    def records(self) -> list[Record]:
        return list(read_records(self.path))


@pytest.fixture
def roll(suite: Suite, tmp_path: Path) -> Roll:
    return Roll(suite, tmp_path / "r.jsonl")
