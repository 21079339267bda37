"""A model that makes mistakes: what breaks a rule never reaches the state, what cannot be detected is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from simia_gym.domain.registration import env_ids
from simia_gym.oracle.options import OracleOptions
from simia_gym.oracle.server import serve_in_thread
from simia_gym.state import pointer_parts

from .stage import Outcome, play_all, suite_of

ENVS = env_ids()


def mistaken(env: str, knobs: Mapping[str, Any], **settings: Any) -> tuple[dict[str, Outcome], Counter[str]]:
    """Every second fixed task of an environment, played against such a model; and which mistakes it made."""
    with serve_in_thread(OracleOptions(**knobs)) as server:
        suite = suite_of(env, server.base_url, split="all", simulator="llm", shadow=True, pins=False, **settings)
        played = play_all(suite, suite.tasks[::2])
        return played, Counter(server.counts["errors"])


def notes(played: Mapping[str, Outcome]) -> Counter[str]:
    """How many accepted answers differ from the world's, by how they do."""
    found: Counter[str] = Counter()
    for outcome in played.values():
        for event in outcome.events:
            note = event["meta"].get("shadow") if event["type"] == "transition" else None
            if note is not None:
                found["answers"] += 1
                found.update(name for name in ("wrong", "missed", "spurious") if note[name])
    return found


def rejected(played: Mapping[str, Outcome]) -> int:
    return sum(event["type"] == "rejected" for outcome in played.values() for event in outcome.events)


def outside(suite_env: str, played: Mapping[str, Outcome]) -> list[str]:
    """Committed changes outside the write set of their tool, or of a call that failed."""
    specs = suite_of(suite_env, simulator="world").domain.specs
    return [
        f"{event['call']['name']}: {op['path']}"
        for outcome in played.values()
        for event in outcome.events
        if event["type"] == "transition" and event["call"] is not None
        for op in event["ops"]
        if event["outcome"] == "error" or not specs[event["call"]["name"]].may_write(pointer_parts(op["path"]))
    ]


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("knob", ["spurious_write_rate", "error_with_effects_rate"])
def test_what_breaks_a_rule_is_rejected_every_time(env: str, knob: str) -> None:
    played, errors = mistaken(env, {knob: 0.9})
    made = sum(errors.values())
    assert made > 10
    assert rejected(played) == made
    assert outside(env, played) == []
    for task, outcome in played.items():  # each was repaired, so nothing is lost
        assert outcome.verdict.valid, f"{task}: {outcome.verdict.reason}"
        assert outcome.verdict.reward == 1, task
    found = notes(played)
    assert not any(found[name] for name in ("wrong", "missed", "spurious"))


@pytest.mark.parametrize("env", ENVS)
def test_a_model_that_does_not_mend_its_ways_is_a_fault(env: str) -> None:
    played, _ = mistaken(env, {"spurious_write_rate": 1.0, "stubborn": True})
    assert outside(env, played) == []
    faults = [outcome.verdict.fault for outcome in played.values()]
    assert all(fault is not None and fault.kind == "invalid_reply" and fault.role == "simulator" for fault in faults)
    assert all(outcome.verdict.reward is None and not outcome.verdict.valid for outcome in played.values())


@pytest.mark.parametrize("env", ENVS)
def test_what_no_rule_detects_is_counted_in_the_record(env: str) -> None:
    played, errors = mistaken(env, {"missed_write_rate": 0.6})
    found = notes(played)
    assert errors["missed_write"] > 5
    # A write that is left out is either accepted, and then seen beside the world, or refused by a rule.
    assert found["missed"] > 0
    assert found["missed"] + rejected(played) >= errors["missed_write"]
    assert found["missed"] <= errors["missed_write"]


@pytest.mark.parametrize("env", ENVS)
def test_wrong_values_are_refused_by_a_rule_or_counted(env: str) -> None:
    played, errors = mistaken(env, {"wrong_value_rate": 0.5})
    found = notes(played)
    assert errors["wrong_value"] > 5
    assert found["wrong"] > 0
    # A wrong value may be the one that stood there before: then the write is missed.
    assert found["wrong"] + found["missed"] + rejected(played) >= errors["wrong_value"]
    assert found["spurious"] == 0


@pytest.mark.parametrize(("judge", "fooled"), [("llm", 0.0), ("llm-all", 1.0)])
def test_a_lenient_judge_decides_nothing_that_programs_can_check(judge: str, fooled: float) -> None:
    """Idlers get nothing where programs decide; whoever leaves all of it to such a judge pays them for nothing."""
    with serve_in_thread(OracleOptions(lenient_judge=True)) as server:
        suite = suite_of("simia/retail-v0", server.base_url, judge=judge)
        played = play_all(suite, suite.tasks[:8], "null")
        assert {outcome.verdict.reward for outcome in played.values()} == {fooled}
        assert (server.counts["requests"].get("judge", 0) > 0) == (judge == "llm-all")
