"""With a model that makes no mistakes, a simulated episode is the real episode: reward, state, answers."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

from simia_gym.domain.registration import CUSTOM, domain_path, env_ids
from simia_gym.oracle.server import OracleServer

from ..worldless import copy_without_world
from .stage import Outcome, play_all, suite_of

ENVS = env_ids()


@lru_cache(maxsize=8)
def real(env: str, policy: str = "expert", feedback: str = "terse") -> dict[str, Outcome]:
    """All fixed tasks in the world; most tests compare with every second one."""
    suite = suite_of(env, split="all", simulator="world", feedback=feedback)
    return play_all(suite, suite.tasks, policy)


def same(simulated: dict[str, Outcome], world: dict[str, Outcome], *, state: bool = True) -> None:
    """Nothing differs, but what keeps no state has none."""
    assert len(simulated) >= 30
    for task, outcome in simulated.items():
        assert outcome.verdict.fault is None, f"{task}: {outcome.verdict.fault}"
        assert outcome.answers == world[task].answers, task
        assert outcome.ended == world[task].ended, task
        if state:
            assert outcome.verdict.valid, f"{task}: {outcome.verdict.reason}"
            assert outcome.verdict.reward == world[task].verdict.reward, task
            assert outcome.tables == world[task].tables, task


@pytest.mark.parametrize("env", ENVS)
def test_the_ledger_strategy_is_the_world(env: str, blind: OracleServer) -> None:
    suite = suite_of(env, blind.base_url, split="all", simulator="llm")
    played = play_all(suite, suite.tasks)
    same(played, real(env))
    assert sum(outcome.routes["llm"] for outcome in played.values()) > 200
    assert all(set(outcome.routes) <= {"llm", "pin", "gate"} for outcome in played.values())


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("feedback", ["terse", "explain"])
def test_errors_are_the_worlds_too(env: str, feedback: str, blind: OracleServer) -> None:
    """A policy that knows nothing makes all the mistakes that the experts do not make."""
    world = real(env, "random", feedback)
    assert sum(answer[1] == "error" for outcome in world.values() for answer in outcome.answers) > 100
    suite = suite_of(env, blind.base_url, split="all", simulator="llm", feedback=feedback)
    same(play_all(suite, suite.tasks[::2], "random"), world)


@pytest.mark.parametrize(
    ("env", "tools", "left"),
    [
        ("simia/retail-v0", ("get_order_details", "cancel_pending_order", "exchange_delivered_order_items"), 25),
        ("simia/webshop-v0", ("search", "click"), 0),  # all that there are
        ("simia/webshop-v0", ("click",), 25),  # each goes on from the page that the other wrote
    ],
)
def test_the_hybrid_is_the_world(env: str, tools: tuple[str, ...], left: int, blind: OracleServer) -> None:
    suite = suite_of(env, blind.base_url, split="all", simulator="hybrid", routes=dict.fromkeys(tools, "llm"))
    played = play_all(suite, suite.tasks[::2])
    same(played, real(env))
    calls, written = Counter[tuple[str, str]](), Counter[str]()
    for outcome in played.values():
        for event in outcome.events:
            if event["type"] == "transition" and event["call"] is not None:
                name, route = event["call"]["name"], event["meta"]["route"]
                assert route in ({"llm", "pin"} if name in tools else {"world"}) | {"gate"}, name
                calls[name, route] += 1
                written[name] += route == "llm" and len(event["ops"]) > 0
    for tool in tools:
        assert calls[tool, "llm"], f"the model answered {tool}"
        assert written[tool] or suite.domain.specs[tool].effect != "write", f"the model wrote in {tool}"
    routes = sum((outcome.routes for outcome in played.values()), Counter[str]())
    assert routes.total() == calls.total() == sum(len(real(env)[task].answers) for task in played)
    assert routes["llm"] >= max(left, 1)
    assert (routes["world"] >= left) if left else not routes["world"]


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("policy", ["expert", "random"])
def test_the_reference_strategy_answers_as_the_world(env: str, policy: str, oracle: OracleServer) -> None:
    suite = suite_of(env, oracle.base_url, split="all", simulator="llm", strategy="reference")
    played = play_all(suite, suite.tasks[::2], policy)
    same(played, real(env, policy), state=False)
    for outcome in played.values():  # no state is kept, so nothing that rests on it is scored
        assert outcome.verdict.reward is None
        assert "no state" in outcome.verdict.reason


def test_a_judge_takes_over_what_the_reference_strategy_cannot_know(oracle: OracleServer) -> None:
    env = "simia/retail-v0"
    suite = suite_of(env, oracle.base_url, split="all", simulator="llm", strategy="reference", judge="llm")
    played = play_all(suite, suite.tasks[::2])
    same(played, real(env), state=False)
    for task, outcome in played.items():
        assert outcome.verdict.reward == real(env)[task].verdict.reward, f"{task}: {outcome.verdict.reason}"


@pytest.mark.parametrize("env", ENVS)
def test_without_the_world_the_model_carries_the_domain(env: str, blind: OracleServer, tmp_path: Path) -> None:
    folder = copy_without_world(domain_path(env), tmp_path / domain_path(env).name)
    suite = suite_of(CUSTOM, blind.base_url, domain=str(folder), split="all", simulator="llm")
    assert suite.domain.world is None
    same(play_all(suite, suite.tasks[::2]), real(env))
