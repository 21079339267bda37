"""What stands in the records of episodes that models played: read by a judge's fault, and by who replays them later."""

from __future__ import annotations

from pathlib import Path

import pytest

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.oracle.options import FaultKind, OracleOptions
from simia_gym.oracle.server import OracleServer, serve_in_thread
from simia_gym.rollout.replay import replay_file
from simia_gym.simulators.pins import MemoryPins

from ..rollout.conftest import Roll
from .stage import play_all, suite_of

ENV = "simia/retail-v0"


def test_an_episode_ends_once_though_its_judge_fails() -> None:
    patience = {"timeout": 60.0, "retries": 0}
    kinds: tuple[FaultKind, ...] = ("rate_limit", "server_error")
    with serve_in_thread(OracleOptions(fault_rate=0.2, faults=kinds, seed=3)) as server:
        suite = suite_of(ENV, server.base_url, simulator="world", judge="llm-all", roles={"judge": patience})
        played = play_all(suite, list(suite.tasks)[:12])
    broken = [it for it in played.values() if it.verdict.fault is not None]
    answered = [it for it in broken if any(event["type"] == "model" for event in it.events)]
    assert answered, "in some episodes the judge answered one question and failed at another"
    for outcome in broken:
        ends = [event for event in outcome.events if event["type"] == "end"]
        assert [(event["reason"], event["truncated"]) for event in ends] == [("user_stop", False)]


def test_a_record_is_proven_where_a_variable_named_the_models(
    oracle: OracleServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMIA_MODEL", "named")
    monkeypatch.setenv("SIMIA_JUDGE_MODEL", "another")
    config = EnvConfig(env=ENV, simulator="llm", user="llm", judge="llm-all")
    roll = Roll(load_suite(config, Resources(base_url=oracle.base_url)), tmp_path / "episodes.jsonl")
    roll(roll.suite.load_policy("expert"), policy="expert", episodes=4, group=2)
    monkeypatch.delenv("SIMIA_MODEL")
    monkeypatch.delenv("SIMIA_JUDGE_MODEL")
    proofs = list(replay_file(roll.path))
    assert [(proof.proven, proof.reason) for proof in proofs] == [(True, "")] * 4


def test_pins_are_not_shared_between_models(oracle: OracleServer) -> None:
    pins, made = MemoryPins(), []
    for settings in ({"model": "a"}, {"model": "a", "timeout": 9}, {"model": "a", "temperature": 1}, {"model": "b"}):
        config = EnvConfig(env=ENV, simulator="llm", roles={"simulator": settings})
        suite = load_suite(config, Resources(base_url=oracle.base_url, pins=pins))
        (outcome,) = play_all(suite, suite.tasks[:1]).values()
        assert {event["model"] for event in outcome.events if event["type"] == "model"} == {settings["model"]}
        made.append(pins.made)
    first = made[0]
    assert made == [first, first, 2 * first, 3 * first]
