"""What the driver of a run on Ray and its workers do by themselves; there is no cluster here."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.common.json_encoding import decode
from simia_gym.domain.registration import CUSTOM
from simia_gym.errors import InputError
from simia_gym.llm.budget import Budget
from simia_gym.oracle import serve_in_thread
from simia_gym.policies import PolicyOptions, policy_hash
from simia_gym.record.records import Record, record_from_json
from simia_gym.rollout.jobs import EpisodeSlot, Plan, slots_of
from simia_gym.rollout.pool import Pool
from simia_gym.rollout.pools import Elsewhere
from simia_gym.rollout.store import create_store

from .libraries import need

need("ray")

from simia_gym.rl.cluster.assignments import Assignments
from simia_gym.rl.cluster.budget_shares import Amounts
from simia_gym.rl.cluster.messages import SlotResult, WorkerSetup, model_variables
from simia_gym.rl.cluster.pool import RayPool, check_cards
from simia_gym.rl.cluster.worker import Worker

EXPERT = Elsewhere(policy="expert", options=PolicyOptions())


class LostError(Exception):
    """The endpoint is gone."""


def test_all_that_is_written_is_counted_before_the_run_is_ended(tmp_path: Path) -> None:
    suite = load_suite(EnvConfig("simia/webshop-v0"))
    plan = Plan(suite.config, suite.domain.hash, "expert", episodes=4)
    with create_store(tmp_path / "here.jsonl") as store:
        asyncio.run(Pool(suite, plan, suite.load_policy("expert")).run(store))
    lines = (tmp_path / "here.jsonl").read_bytes().splitlines(keepends=True)
    heard: list[Record] = []

    def lost(record: Record) -> None:
        heard.append(record)
        if len(heard) == 2:
            raise LostError

    pool = RayPool(suite, plan, EXPERT, on_done=lost)
    pool._assignments = Assignments(slots_of(plan, len(suite.tasks)))
    slots = pool._assignments.assign("0.0", 4)
    finished = [
        SlotResult(slot=slot, line=line, times={"key": str(number), "task": "t", "member": 0, "turns": 0})
        for number, (slot, line) in enumerate(zip(slots, lines, strict=True))
    ]
    with create_store(tmp_path / "ray.jsonl") as store, pytest.raises(LostError):
        pool._take_in("0.0", finished, store)
    assert (tmp_path / "ray.jsonl").read_bytes().splitlines(keepends=True) == lines
    assert pool.summary.all.episodes == 4
    assert len(heard) == 2


@pytest.mark.parametrize(("settings", "name"), [({}, "world"), ({"simulator": "llm", "model": "m"}, "llm")])
def test_workers_play_the_simulator_that_the_driver_has_resolved(settings: dict[str, Any], name: str) -> None:
    config = EnvConfig("simia/webshop-v0", **settings)
    suite = load_suite(config, Resources(base_url="http://127.0.0.1:1/v1") if settings else Resources())
    setup = RayPool(suite, Plan(config, suite.domain.hash, "expert"), EXPERT)._worker_setup(1, None)
    assert setup.config.simulator == name
    assert setup.plan.config == config  # what the record says is not changed


def test_a_model_in_every_worker_is_not_put_onto_one_card() -> None:
    allowed: list[tuple[str, dict[str, Any], int]] = [("hf", {}, 0), ("hf", {"device": "cpu"}, 1), ("llm", {}, 8)]
    for policy, extra, cards in allowed:
        check_cards(Elsewhere(policy=policy, options=PolicyOptions(model="m", extra=extra)), cards)
    elsewhere = Elsewhere(policy="hf", options=PolicyOptions(model="m", extra={"dtype": "bfloat16"}))
    with pytest.raises(InputError, match=r"policy 'hf' with --ray"):
        check_cards(elsewhere, 8)


@pytest.fixture
def worker() -> Iterator[Worker]:
    """One that has not begun; what it does to the environment of this process is undone."""
    made, before = Worker(), dict(os.environ)
    yield made
    made.close()
    os.environ.clear()
    os.environ.update(before)


def setup_of(config: EnvConfig, policy: str, resources: Resources | None = None) -> WorkerSetup:
    """What the driver of a run would send."""
    suite = load_suite(config, resources or Resources())
    source = policy_hash(policy, suite.domain.config.policies, folder=suite.domain.folder)
    plan = Plan(suite.config, suite.domain.hash, policy, policy_hash=source)
    return RayPool(suite, plan, Elsewhere(policy=policy, options=PolicyOptions()), concurrency=1)._worker_setup(1, None)


def test_a_share_that_does_not_grow_ends_in_a_fault_and_one_that_grows_does_not(worker: Worker) -> None:
    with serve_in_thread() as oracle:
        config = EnvConfig("simia/webshop-v0", simulator="llm", model="oracle", pins=False)
        setup = setup_of(config, "expert", Resources(base_url=oracle.base_url, budget=Budget(max_calls=100)))
        assert worker.start(setup, {}).problem is None
        limit, replies = 2, []
        reply = worker.exchange([EpisodeSlot(0, 0)], Amounts(limit, None, None))
        while not reply.finished:
            replies.append(reply)
            limit += 1
            reply = worker.exchange([], Amounts(limit, None, None))
        assert record_from_json(decode(reply.finished[0].line), "line", reply.finished[0].blobs).valid
        assert (reply.spent.calls or 0) <= limit
        assert sum(one.usage["simulator"].calls for one in [*replies, reply] if one.usage) == reply.spent.calls
        more = Amounts((reply.spent.calls or 0) + 1, None, None)
        reply = worker.exchange([EpisodeSlot(1, 0)], more)
        while not reply.finished:
            reply = worker.exchange([], more)
        record = record_from_json(decode(reply.finished[0].line), "line", reply.finished[0].blobs)
        assert (record.fault or {})["kind"] == "budget"


def test_what_is_not_the_drivers_is_told(desk: Path) -> None:
    setup = setup_of(EnvConfig(CUSTOM, domain="desk", split="all"), "mine.py:Slow")
    wrong = {
        "driver's of 0.0": replace(setup, version="0.0"),
        "domain desk differs": replace(setup, plan=replace(setup.plan, domain_hash="0" * 16)),
        "policy mine.py:Slow differs": replace(setup, plan=replace(setup.plan, policy_hash="0" * 16)),
        "nowhere": replace(setup, config=EnvConfig(CUSTOM, domain="nowhere")),
    }
    for what, changed in wrong.items():
        worker = Worker()
        problem = worker.start(changed, model_variables()).problem
        worker.close()
        assert problem is not None
        assert what in problem


def test_what_the_driver_does_not_have_the_worker_has_not_either(
    desk: Path, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SIMIA_POLICY_BASE_URL", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "HOME_OF_OTHERS"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    setup = setup_of(EnvConfig(CUSTOM, domain="desk", split="all"), "expert")
    worker.start(setup, {"OPENAI_API_KEY": "sk-1"})
    found = {name for name in os.environ if name.startswith(("SIMIA_", "OPENAI_", "AZURE_OPENAI_"))}
    assert found == {"OPENAI_API_KEY"}
    assert os.environ["HOME_OF_OTHERS"] == "http://127.0.0.1:1"


def test_ceilings_are_split_among_workers() -> None:
    config = EnvConfig("simia/webshop-v0", roles={"judge": {"model": "m", "concurrency": 9}}, judge="llm")
    suite = load_suite(config, Resources(base_url="http://127.0.0.1:1/v1"))
    elsewhere = replace(EXPERT, options=PolicyOptions(concurrency=3))
    pool = RayPool(suite, Plan(config, suite.domain.hash, "expert"), elsewhere)
    for workers, judge, policy in ((2, 4, 1), (20, 1, 1), (1, 9, 3)):
        part = pool._worker_setup(workers, None)
        assert part.config.roles["judge"]["concurrency"] == judge
        assert part.policy.options.concurrency == policy
