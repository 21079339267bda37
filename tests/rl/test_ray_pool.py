"""The Ray pool on a real cluster: the same record as the local pool's, whatever becomes of its workers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.domain.registration import CUSTOM
from simia_gym.errors import InputError
from simia_gym.llm.accounts import accounts
from simia_gym.llm.budget import Budget
from simia_gym.oracle.server import serve_in_thread
from simia_gym.policies import PolicyOptions, policy_hash
from simia_gym.record.records import Record, read_records
from simia_gym.rollout.jobs import Plan
from simia_gym.rollout.pool import Pool
from simia_gym.rollout.pools import Elsewhere, load_pool
from simia_gym.rollout.store import create_store, resume_store

from .libraries import need

need("ray")
pytestmark = [pytest.mark.slow_rl, pytest.mark.usefixtures("cluster")]

WORKERS = 2


def plan_of(suite: Suite, policy: str, **settings: Any) -> Plan:
    source = policy_hash(policy, suite.domain.config.policies, folder=suite.domain.folder)
    return Plan(suite.config, suite.domain.hash, policy, policy_hash=source, **settings)


class Runs:
    """Runs the same plan on Ray and here."""

    def __init__(self, suite: Suite, policy: str, **settings: Any) -> None:
        self.suite, self.policy = suite, policy
        self.plan = plan_of(suite, policy, **settings)

    def ray(
        self,
        path: Path,
        *,
        resume: bool = False,
        on_done: Callable[[Any, Record], None] | None = None,
        **settings: Any,
    ) -> Any:
        elsewhere = Elsewhere(policy=self.policy, options=PolicyOptions(), workers=WORKERS)
        made: list[Any] = []
        pool = load_pool("ray")(
            self.suite, self.plan, elsewhere, on_done=lambda r: on_done(made[0], r) if on_done else None, **settings
        )
        made.append(pool)
        with resume_store(path, self.plan) if resume else create_store(path) as store:
            asyncio.run(pool.run(store))
        return pool

    def here(self, path: Path, **settings: Any) -> Pool:
        pool = Pool(self.suite, self.plan, self.suite.load_policy(self.policy), **settings)
        with create_store(path) as store:
            asyncio.run(pool.run(store))
        return pool


def lines(path: Path) -> list[bytes]:
    return sorted(path.read_bytes().splitlines())


def test_a_killed_workers_episodes_are_done_again_and_none_is_lost_or_counted_twice(desk: Path) -> None:
    suite = load_suite(EnvConfig(CUSTOM, domain="desk", split="all"))
    runs = Runs(suite, "mine.py:Slow", group=40)
    killed: list[int] = []

    def kill_one(pool: Any, record: Record) -> None:
        if pool.summary.all.episodes >= 20 and not killed and len(pool.workers) == WORKERS:
            killed.append(pool.workers["0.0"].pid)
            os.kill(killed[0], signal.SIGKILL)

    pool = runs.ray(desk / "ray.jsonl", concurrency=16, on_done=kill_one)
    runs.here(desk / "here.jsonl", concurrency=64)
    assert pool.lost == len(killed) == 1
    records = list(read_records(desk / "ray.jsonl"))
    assert len({record.key for record in records}) == len(records) == pool.total == 240
    assert lines(desk / "ray.jsonl") == lines(desk / "here.jsonl")
    assert pool.summary.all.episodes == pool.summary.all.valid == 240


def test_a_node_joins_and_dies_and_nothing_is_lost(desk: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.rl.ray_nodes", str(desk / "ray.jsonl")],
        cwd=desk,
        env={**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout.strip().splitlines()[-1])
    assert 2 <= seen["taken"] < seen["total"] == 60
    assert seen["lost"] >= 2  # and whoever was begun there before its death was noticed
    runs = Runs(load_suite(EnvConfig(CUSTOM, domain="desk", split="all")), "mine.py:Held", group=seen["group"])
    runs.here(desk / "here.jsonl", concurrency=64)
    assert lines(desk / "ray.jsonl") == lines(desk / "here.jsonl")


def test_an_episode_that_kills_every_worker_gets_a_fault_and_the_others_are_played(desk: Path) -> None:
    suite = load_suite(EnvConfig(CUSTOM, domain="desk", split="all"))
    (desk / "deadly.txt").write_text("-1")
    runs = Runs(suite, "mine.py:Deadly", group=5)
    runs.here(desk / "here.jsonl")
    records = list(read_records(desk / "here.jsonl"))
    rests = [record.seed % 23 for record in records]
    deadly = next(rest for rest in rests if rests.count(rest) == 1)
    (desk / "deadly.txt").write_text(str(deadly))
    pool = runs.ray(desk / "ray.jsonl")
    found = list(read_records(desk / "ray.jsonl"))
    assert {record.key for record in found} == {record.key for record in records}
    assert len(found) == len(records)
    assert [(record.seed % 23, (record.fault or {})["kind"]) for record in found if not record.valid] == [
        (deadly, "worker_lost")
    ]
    assert pool.lost == 3
    (desk / "deadly.txt").write_text("-1")
    again = runs.ray(desk / "ray.jsonl", resume=True)
    assert again.summary.reused == len(records) - 1
    assert lines(desk / "ray.jsonl") == lines(desk / "here.jsonl")


def test_an_episode_that_never_returns_is_interrupted_in_a_worker_too(desk: Path) -> None:
    runs = Runs(load_suite(EnvConfig(CUSTOM, domain="desk", split="all")), "mine.py:Stuck", group=4)
    pool = runs.ray(desk / "ray.jsonl", timeout=0.5)
    records = list(read_records(desk / "ray.jsonl"))
    stuck = [record for record in records if record.seed % 7 == 0]
    assert stuck
    assert [(record.fault or {}).get("kind") for record in stuck] == ["timeout"] * len(stuck)
    assert pool.summary.all.invalid == len(stuck)
    assert pool.lost == 0


def test_groups_share_answers_over_all_workers_and_the_models_are_accounted_for(tmp_path: Path) -> None:
    with serve_in_thread() as oracle:
        config = EnvConfig("simia/webshop-v0", simulator="llm", model="oracle", split="test")
        counts, answers = {}, 0
        for name in ("here", "ray"):
            accounts().after_fork()
            suite = load_suite(config, Resources(base_url=oracle.base_url))
            runs = Runs(suite, "expert", group=6, episodes=48)
            pool = runs.ray(tmp_path / "ray.jsonl") if name == "ray" else runs.here(tmp_path / "here.jsonl")
            assert pool.summary.all.valid == 48
            counts[name] = accounts().snapshot()["simulator"]["calls"]
            answers = sum(pool.summary.routes.values())
    assert counts["ray"] == counts["here"] < answers / 2


def test_a_budget_holds_for_all_workers_together(tmp_path: Path) -> None:
    with serve_in_thread() as oracle:
        accounts().after_fork()
        config = EnvConfig("simia/webshop-v0", simulator="llm", model="oracle", pins=False)
        suite = load_suite(config, Resources(base_url=oracle.base_url, budget=Budget(max_calls=60)))

        def halt(pool: Any, record: Record) -> None:
            if record.fault and record.fault["kind"] == "budget":
                pool.halt()

        pool = Runs(suite, "expert", group=4).ray(tmp_path / "ray.jsonl", on_done=halt, concurrency=4)
    assert 50 <= accounts().snapshot()["simulator"]["tries"] <= 60
    assert pool.summary.faults["simulator:budget"] >= 1
    assert pool.summary.all.valid >= 4
    assert pool.summary.all.episodes < pool.total


def test_keys_reach_the_workers_and_no_record(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMIA_POLICY_API_KEY", "sk-0123456789abcdef0123456789")
    suite = load_suite(EnvConfig(CUSTOM, domain="desk", split="all", max_turns=1))
    runs = Runs(suite, "mine.py:Telling")
    runs.ray(desk / "ray.jsonl")
    said = {action for record in read_records(desk / "ray.jsonl") for action in record.actions}
    assert said == {"sk-0123456789abcdef0123456789"}  # this policy's own doing: it is in the process's environment
    assert b"sk-0123" not in (desk / "ray.times.jsonl").read_bytes()


def test_live_parts_that_cannot_travel_are_refused() -> None:
    suite = load_suite(EnvConfig("simia/webshop-v0"), Resources(api_key="sk-1"))
    with pytest.raises(InputError, match=r"resources\.api_key: it cannot be used in other processes"):
        Runs(suite, "expert").ray(Path("never.jsonl"))
