"""Our own run: a rollout with the complete product, including the record on disk."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from collections.abc import Awaitable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.model_calls.measure import CLIENT_CORE, Meter, pin, report, settings
from benchmarks.model_calls.scripts import TURNS
from benchmarks.model_calls.workload import config, endpoint, policy_options
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.event_loop import new_loop
from simia_gym.policies.llm import LLMPolicy, policy_model
from simia_gym.record.records import Record
from simia_gym.rollout.jobs import Plan
from simia_gym.rollout.pool import Pool
from simia_gym.rollout.store import create_store
from simia_gym.types import Message, PolicyAction


class Timed(LLMPolicy):
    """The policy; also records the start of each turn. A turn lasts until the next one starts."""

    meter = Meter(1, 1.0)

    def act(self, messages: Sequence[Message]) -> Awaitable[PolicyAction]:  # type: ignore[override]
        """Record the time and call the model."""
        now = time.perf_counter()
        began = getattr(self, "_began", None)
        if began is not None:
            self.meter.turns.append(now - began)
        self._began = now
        return super().act(messages)


class Tally:
    """Statistics of the episodes; the episodes themselves are not kept in memory."""

    def __init__(self) -> None:
        self.turns = self.episodes = 0
        self.bad: list[str] = []

    def add(self, record: Record) -> None:
        """Count an episode."""
        self.turns += record.turns
        self.episodes += 1
        if not record.valid or record.turns != TURNS:
            self.bad.append(f"{record.task}: {record.fault or record.ended}")


async def roll(suite: Suite, port: int, concurrency: int, episodes: int, folder: Path, seed: int = 0) -> Tally:
    """Run a rollout."""
    model = policy_model(policy_options(port))  # as `load_policy` makes policies that ask a model
    plan = Plan(config=suite.config, domain_hash=suite.domain.hash, policy="llm", seed=seed, episodes=episodes)
    tally = Tally()
    pool = Pool(suite, plan, lambda: Timed(model=model), concurrency=concurrency, on_done=tally.add)
    with create_store(folder / f"{episodes}.jsonl") as store:
        await pool.run(store)
    if tally.bad:
        raise RuntimeError(f"{len(tally.bad)} episodes were not played to their end; the first: {tally.bad[0]}")
    return tally


async def run(options: dict[str, Any]) -> None:
    """Measure a rollout, after a short warm-up rollout."""
    port, concurrency = options["port"], options["concurrency"]
    with tempfile.TemporaryDirectory() as folder:
        suite = load_suite(config(), endpoint(port))
        # The warm-up has another seed, so that the measured rollout finds no pinned answers.
        await roll(suite, port, 2, 2, Path(folder), seed=1)
        meter = Timed.meter = Meter(concurrency, options["mean_latency"])
        gc.collect()
        meter.begin()
        tally = await roll(suite, port, concurrency, options["episodes"], Path(folder) / "measured")
        result = meter.end(tally.turns, versions={"simia-gym": version("simia-gym")}, episodes=tally.episodes)
        written = (Path(folder) / "measured" / f"{options['episodes']}.jsonl").stat().st_size
        report({**result, "record_kb": round(written / tally.episodes / 1000, 1)})


if __name__ == "__main__":
    pin(CLIENT_CORE)
    with asyncio.Runner(loop_factory=new_loop) as runner:  # the same event loop as the command line
        runner.run(run(settings()))
