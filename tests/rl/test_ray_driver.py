"""What the driver of a run on Ray decides by itself; there is no cluster here."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.errors import InputError
from simia_gym.policies import PolicyOptions
from simia_gym.record.records import Record
from simia_gym.rollout.jobs import Plan, slots_of
from simia_gym.rollout.pool import Pool
from simia_gym.rollout.pools import Elsewhere
from simia_gym.rollout.store import create_store

from .libraries import need

need("ray")

from simia_gym.rl.cluster.assignments import Assignments
from simia_gym.rl.cluster.budget_shares import Amounts
from simia_gym.rl.cluster.messages import SlotResult, WorkerReply
from simia_gym.rl.cluster.pool import RayPool, check_cards

NOTHING = Amounts(0, 0, 0)
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
    reply = WorkerReply(finished=finished, returned=[], accounts={}, in_force=NOTHING, spent=NOTHING)
    pool._shares.grant("0.0")
    with create_store(tmp_path / "ray.jsonl") as store, pytest.raises(LostError):
        pool._take_in("0.0", reply, store)
    assert (tmp_path / "ray.jsonl").read_bytes().splitlines(keepends=True) == lines
    assert pool.summary.all.episodes == 4
    assert len(heard) == 2


@pytest.mark.parametrize(("settings", "name"), [({}, "world"), ({"simulator": "llm", "model": "m"}, "llm")])
def test_workers_play_the_simulator_that_the_driver_has_resolved(settings: dict[str, Any], name: str) -> None:
    config = EnvConfig("simia/webshop-v0", **settings)
    suite = load_suite(config, Resources(base_url="http://127.0.0.1:1/v1") if settings else Resources())
    setup = RayPool(suite, Plan(config, suite.domain.hash, "expert"), EXPERT)._worker_setup(1, None)
    assert setup.config.simulator == name
    assert setup.plan["config"] == config  # what the record says is not changed


def test_a_model_in_every_worker_is_not_put_onto_one_card() -> None:
    allowed: list[tuple[str, dict[str, Any], int]] = [("hf", {}, 0), ("hf", {"device": "cpu"}, 1), ("llm", {}, 8)]
    for policy, extra, cards in allowed:
        check_cards(Elsewhere(policy=policy, options=PolicyOptions(model="m", extra=extra)), cards)
    elsewhere = Elsewhere(policy="hf", options=PolicyOptions(model="m", extra={"dtype": "bfloat16"}))
    with pytest.raises(InputError, match=r"policy 'hf' with --ray"):
        check_cards(elsewhere, 8)
