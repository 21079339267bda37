"""Endpoints that fail and models that make mistakes: nothing is lost in silence, and no fault is ever a 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from simia_gym.common.json_encoding import encode
from simia_gym.llm.accounts import accounts
from simia_gym.llm.cassette import Cassette
from simia_gym.oracle.options import FAULTS, OracleOptions
from simia_gym.oracle.server import serve_in_thread
from simia_gym.state import pointer_parts

from ..proof.stage import Outcome, play_all
from .conftest import FOLDERS
from .table import World

GONE = "http://127.0.0.1:9/v1"
QUICK = tuple(kind for kind in FAULTS if kind != "hang")
"""The oracle's own tests meet hanging requests, too; here nothing depends on how fast a machine is."""


def asked(world: World) -> set[str]:
    """The roles that models play when all may: some domains have nobody to talk to, or no criteria to judge."""
    judged = world.domain.rubric or any(task.criteria for task in world.tasks())
    return {"simulator"} | ({"user"} if world.domain.user else set()) | ({"judge"} if judged else set())


def settings(world: World, *, retries: int) -> dict[str, Any]:
    """All roles are played by models, as far as the domain has them."""
    patience = {"timeout": 60.0, "retries": retries, "backoff": 0.01}
    roles = {"simulator", "judge"} | asked(world)
    made = {"simulator": "llm", "judge": "llm-all", "roles": dict.fromkeys(roles, patience)}
    return {**made, "user": "llm"} if "user" in roles else made


def faulty(rate: float) -> OracleOptions:
    return OracleOptions(domains=FOLDERS, fault_rate=rate, faults=QUICK, seed=5)


def ledgers(played: dict[str, Outcome]) -> dict[str, bytes]:
    return {task: encode(outcome.events) for task, outcome in played.items()}


@pytest.mark.parametrize(("rate", "retries"), [(0.2, 8), (0.4, 1)])
@pytest.mark.slow
def test_a_fault_is_repeated_or_no_reward_at_all(world: World, rate: float, retries: int, tmp_path: Path) -> None:
    """With enough retries no episode is lost; with too few, every role gives up in some episodes."""
    cassette, chosen = tmp_path / "answers.jsonl", settings(world, retries=retries)
    tasks = world.some if retries > 1 else [*world.some, *world.tasks()]
    tasks = [*{task.id: task for task in tasks}.values()]
    accounts().drain()
    with serve_in_thread(faulty(rate)) as server:
        played = play_all(world.suite(server.base_url, cassette=Cassette(cassette, "record"), **chosen), tasks)
        met, requests = server.counts["faults"], sum(server.counts["requests"].values())
    assert len(met) >= min(5, 1 + requests // 40), f"several kinds of faults were met: {met}"
    spent = accounts().snapshot()
    assert set(spent) == asked(world)
    broken = {task: outcome for task, outcome in played.items() if not outcome.verdict.valid}
    lost = {outcome.verdict.fault.role for outcome in broken.values() if outcome.verdict.fault}
    assert lost == (set() if retries > 1 else asked(world) if requests > 100 else lost)
    for task, outcome in played.items():
        if task not in broken:
            assert outcome.verdict.reward == 1, task
        else:
            assert outcome.verdict.reward is None, task
            assert outcome.verdict.fault is not None, f"{task}: {outcome.verdict.reason}"
            assert "tries)" in outcome.verdict.fault.message
            assert outcome.ended == "fault", task
    # The endpoint is gone; what it said is on the cassette.
    again = world.suite(GONE, cassette=Cassette(cassette, "replay"), **chosen)
    assert ledgers(play_all(again, tasks)) == ledgers(played)


def mistaken(world: World, **knobs: Any) -> tuple[dict[str, Outcome], Counter[str]]:
    """Some tasks, played against such a model; and which mistakes it made."""
    with serve_in_thread(OracleOptions(domains=FOLDERS, **knobs)) as server:
        # Where code can answer, it would leave the model little to say.
        written = {"render": "model"} if any(world.domain.renderers.values()) else {}
        suite = world.suite(server.base_url, simulator="llm", shadow=True, pins=False, **written)
        return play_all(suite, world.some), Counter(server.counts["errors"])


def notes(played: Mapping[str, Outcome]) -> Counter[str]:
    """How many accepted answers differ from the world's, by how they do."""
    found: Counter[str] = Counter()
    for event in (event for outcome in played.values() for event in outcome.events):
        note = event["meta"].get("shadow") if event["type"] == "transition" else None
        found.update(name for name in ("wrong", "missed", "spurious") if note is not None and note[name])
    return found


def rejected(played: Mapping[str, Outcome]) -> int:
    return sum(event["type"] == "rejected" for outcome in played.values() for event in outcome.events)


def outside(world: World, played: Mapping[str, Outcome]) -> list[str]:
    """Committed changes outside the write set of their tool, or of a call that failed."""
    specs = world.domain.specs
    return [
        f"{event['call']['name']}: {op['path']}"
        for event in (event for outcome in played.values() for event in outcome.events)
        if event["type"] == "transition" and event["call"] is not None
        for op in event["ops"]
        if event["outcome"] == "error" or not specs[event["call"]["name"]].may_write(pointer_parts(op["path"]))
    ]


@pytest.mark.parametrize("knob", ["spurious_write_rate", "error_with_effects_rate"])
@pytest.mark.slow
def test_what_breaks_a_rule_is_rejected_every_time_and_repaired(world: World, knob: str) -> None:
    played, errors = mistaken(world, **{knob: 0.9})
    assert rejected(played) == errors.total() > 0
    assert outside(world, played) == []
    for task, outcome in played.items():
        assert outcome.verdict.reward == 1, f"{task}: {outcome.verdict.reason}"
    assert not notes(played)


@pytest.mark.sampled
def test_a_model_that_does_not_mend_its_ways_is_a_fault(world: World) -> None:
    played, _ = mistaken(world, spurious_write_rate=1.0, stubborn=True)
    assert outside(world, played) == []
    for outcome in played.values():
        assert outcome.verdict.fault is not None
        assert (outcome.verdict.fault.kind, outcome.verdict.fault.role) == ("invalid_reply", "simulator")
        assert (outcome.verdict.reward, outcome.verdict.valid) == (None, False)


@pytest.mark.parametrize(("knob", "mistake"), [("missed_write_rate", "missed"), ("wrong_value_rate", "wrong")])
@pytest.mark.slow
def test_what_no_rule_detects_is_counted_in_the_record(world: World, knob: str, mistake: str) -> None:
    # In Mind2Web nearly all that is altered lies in a table that goals do not count: take draws that alter more.
    played, errors = mistaken(world, **{knob: 0.6}, seed=2 if world.name == "simia/mind2web-v0" else 0)
    found, made = notes(played), errors.total()
    assert made > 0
    assert found[mistake] > 0 or rejected(played) > 0
    # It is accepted and seen beside the world, or refused by a rule. A wrong value, or one that is not written, may be
    # the one that stood there.
    assert found["wrong"] + found["missed"] + rejected(played) >= (1 if world.domain.uncounted else 0.9 * made)
    assert found["spurious"] == 0


@pytest.mark.parametrize(("judge", "fooled"), [("llm", 0.0), ("llm-all", 1.0)])
def test_a_lenient_judge_decides_nothing_that_programs_can_check(talking: World, judge: str, fooled: float) -> None:
    """Idlers get nothing where programs decide; whoever leaves all of it to such a judge pays them for nothing."""
    with serve_in_thread(OracleOptions(domains=FOLDERS, lenient_judge=True)) as server:
        suite = talking.suite(server.base_url, judge=judge)
        played = play_all(suite, suite.tasks[:8], "null")
        assert {outcome.verdict.reward for outcome in played.values()} == {fooled}
        assert server.counts["requests"].get("judge", 0) > 0
