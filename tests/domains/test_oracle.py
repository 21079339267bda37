"""With a model that makes no mistakes, over real HTTP, a simulated episode is the real one: reward, state, answers."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from simia_gym.domain.registration import CUSTOM
from simia_gym.errors import InputError
from simia_gym.oracle import OracleServer

from ..proof.stage import Outcome, play_all, suite_of
from ..worldless import copy_without_world
from .table import WORLDS, World


@cache
def real(world: World, policy: str = "expert", feedback: str = "terse") -> dict[str, Outcome]:
    """Some tasks in the world."""
    return play_all(world.suite(simulator="world", feedback=feedback), world.some, policy)


def same(simulated: dict[str, Outcome], world: dict[str, Outcome], *, state: bool = True) -> None:
    """Nothing differs, but what keeps no state has none."""
    assert set(simulated) == set(world)
    for task, outcome in simulated.items():
        assert outcome.verdict.fault is None, f"{task}: {outcome.verdict.fault}"
        assert outcome.answers == world[task].answers, task
        assert outcome.ended == world[task].ended, task
        if state:
            assert outcome.verdict.valid, f"{task}: {outcome.verdict.reason}"
            assert outcome.verdict.reward == world[task].verdict.reward, task
            assert outcome.changed == world[task].changed, task


@pytest.mark.parametrize("policy", ["expert", "random"])
@pytest.mark.parametrize("feedback", ["terse", "explain"])
@pytest.mark.slow
def test_the_ledger_strategy_is_the_world(world: World, feedback: str, policy: str, blind: OracleServer) -> None:
    """A policy that knows nothing makes all the mistakes that the expert does not make."""
    suite = world.suite(blind.base_url, simulator="llm", feedback=feedback)
    played = play_all(suite, world.some, policy)
    same(played, real(world, policy, feedback))
    routes = sum((outcome.routes for outcome in played.values()), Counter[str]())
    assert set(routes) <= {"llm", "pin", "gate", "render"}
    assert routes["llm"] > 0
    errors = sum(answer[1] == "error" for outcome in played.values() for answer in outcome.answers)
    assert policy == "expert" or suite.domain.replies == "end" or not world.own.errs or errors >= len(played)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.sampled
def test_the_hybrid_is_the_world(world: World, side: int, blind: OracleServer) -> None:
    """Every second tool is played by the model, once the even ones and once the odd ones."""
    specs = world.domain.specs
    tools = [name for name in [*specs][side::2] or specs if specs[name].route != "world"]
    coded = {} if world.domain.world is None else world.domain.world.tools
    routes = {name: "world" for name in coded if specs[name].route != "llm"} | dict.fromkeys(tools, "llm")
    suite = world.suite(blind.base_url, simulator="hybrid", routes=routes)
    played = play_all(suite, world.some)
    same(played, real(world))
    calls = Counter[tuple[str, str]]()
    for event in (event for outcome in played.values() for event in outcome.events):
        if event["type"] == "transition" and event["call"] is not None:
            name, route = event["call"]["name"], event["meta"]["route"]
            assert route in ({"llm", "pin", "render"} if name in tools else {"world"}) | {"gate"}, name
            calls[name, route] += 1
    assert calls.total() == sum(len(outcome.answers) for outcome in played.values())
    assert any(name in tools for name, route in calls if route in ("llm", "render"))


def test_a_model_may_write_what_rules_write(world: World, blind: OracleServer) -> None:
    if not any(world.domain.renderers.values()):
        with pytest.raises(InputError, match="no tool with a rendering rule"):
            world.suite(blind.base_url, simulator="llm", render="model")
        return
    played = play_all(world.suite(blind.base_url, simulator="llm", render="model"), world.some)
    same(played, real(world))
    assert set(sum((outcome.routes for outcome in played.values()), Counter[str]())) <= {"llm", "pin", "gate"}


def test_a_world_decides_who_answers(blind: OracleServer) -> None:
    """Code is the browser of the sites, and the model plays what changes tables."""
    sites = next(world for world in WORLDS if world.name == "simia/mind2web-v0")
    played = play_all(sites.suite(blind.base_url, simulator="hybrid"), sites.some)
    same(played, real(sites))
    asked = 0
    for event in (event for outcome in played.values() for event in outcome.events if event["type"] == "transition"):
        changes = any(op["path"].startswith("/account/") for op in event["ops"] or ())
        assert event["meta"]["route"] in ({"llm", "pin"} if changes else {"world"})
        asked += changes
    assert asked >= len(played) / 2


@pytest.mark.parametrize("policy", ["expert", "random"])
@pytest.mark.slow
def test_the_reference_strategy_answers_as_the_world(world: World, policy: str, oracle: OracleServer) -> None:
    suite = world.suite(oracle.base_url, simulator="llm", strategy="reference")
    played = play_all(suite, world.some, policy)
    same(played, real(world, policy), state=False)
    for outcome in played.values():  # no state is kept, so nothing that rests on it is scored
        assert outcome.verdict.reward is None
        assert "no state" in outcome.verdict.reason


def test_a_judge_takes_over_what_the_reference_strategy_cannot_know(talking: World, oracle: OracleServer) -> None:
    suite = talking.suite(oracle.base_url, simulator="llm", strategy="reference", judge="llm")
    played = play_all(suite, talking.some)
    same(played, real(talking), state=False)
    for task, outcome in played.items():
        assert outcome.verdict.reward == real(talking)[task].verdict.reward, f"{task}: {outcome.verdict.reason}"


@pytest.mark.slow
def test_without_the_world_the_model_carries_the_domain(bare: World, blind: OracleServer, tmp_path: Path) -> None:
    folder = copy_without_world(bare.folder, tmp_path / "bare")
    suite = suite_of(CUSTOM, blind.base_url, domain=str(folder), split="all", simulator="llm")
    assert suite.domain.world is None
    fixed = {task.id for task in bare.tasks()}
    truth = {task: outcome for task, outcome in real(bare).items() if task in fixed}
    same(play_all(suite, [suite.task(task) for task in truth]), truth)


def test_a_customer_that_a_model_plays_leads_to_the_same_end(talking: World, oracle: OracleServer) -> None:
    for policy in ("expert", "claimer"):
        played = play_all(talking.suite(oracle.base_url, simulator="world", user="llm"), talking.some, policy)
        for task, outcome in real(talking, policy).items():
            assert played[task].verdict.reward == outcome.verdict.reward, (policy, task)
