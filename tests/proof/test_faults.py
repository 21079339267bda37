"""A fifth of all requests meet a fault: nothing is lost, and no fault is ever scored as a failure."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from simia_gym.common.json_encoding import encode
from simia_gym.domain.registration import env_ids
from simia_gym.llm.accounts import accounts
from simia_gym.llm.cassette import Cassette
from simia_gym.oracle.options import FAULTS, OracleOptions
from simia_gym.oracle.server import serve_in_thread

from .stage import Outcome, play_all, suite_of

ENVS = env_ids()
ROLES = ("simulator", "user", "judge")
ASKED = {"simia/retail-v0": set(ROLES), "simia/webshop-v0": {"simulator"}}
"""Who asks a model when all may: the web shop has no user to talk to, and its reward has no criteria to judge."""

KINDS = {"rate_limit", "server_error", "timeout", "connection", "bad_reply", "empty_reply"}
"""What the faults of the transport are to the role that meets them."""


def settings(env: str, *, retries: int) -> dict[str, Any]:
    """All three roles are played by models, as far as the domain has them."""
    patience = {"timeout": 0.4, "retries": retries, "backoff": 0.01}
    talks = suite_of(env, simulator="world").domain.user is not None
    roles = {role: patience for role in ROLES if role != "user" or talks}
    made = {"split": "all", "simulator": "llm", "judge": "llm-all", "roles": roles}
    return {**made, "user": "llm"} if talks else made


def faulty(rate: float = 0.2) -> OracleOptions:
    return OracleOptions(fault_rate=rate, hang=1.0, seed=3)


def ledgers(played: dict[str, Outcome]) -> dict[str, bytes]:
    return {task: encode(outcome.events) for task, outcome in played.items()}


@pytest.mark.parametrize("env", ENVS)
def test_with_retries_no_episode_is_lost(env: str, tmp_path: Path) -> None:
    with serve_in_thread() as server:
        suite = suite_of(env, server.base_url, **settings(env, retries=8))
        tasks = list(suite.tasks)[::3]
        calm = play_all(suite, tasks)
    cassette = tmp_path / "answers.jsonl"
    accounts().drain()
    with serve_in_thread(faulty()) as server:
        suite = suite_of(env, server.base_url, cassette=Cassette(cassette, "record"), **settings(env, retries=8))
        stormy = play_all(suite, tasks)
        met = dict(server.counts["faults"])
    assert set(met) <= set(FAULTS)
    assert len(met) >= 5, "several kinds of faults were met; the oracle's own tests meet each kind"
    spent = accounts().snapshot()
    assert set(spent) == ASKED[env]
    for role, counts in spent.items():
        assert len(counts["failures"]) >= 4, f"the {role} met several kinds: {counts['failures']}"
        assert counts["retries"] >= 10, role
        assert counts["faults"] == {}, role
    for task, outcome in stormy.items():
        assert outcome.verdict.valid, f"{task}: {outcome.verdict.reason}"
        assert outcome.verdict.reward == calm[task].verdict.reward == 1, task
        assert outcome.tables == calm[task].tables, task
    # The endpoint is gone; what it said is on the cassette.
    again = suite_of(env, "http://127.0.0.1:9/v1", cassette=Cassette(cassette, "replay"), **settings(env, retries=8))
    assert ledgers(play_all(again, tasks)) == ledgers(stormy)


@pytest.mark.parametrize("env", ENVS)
def test_when_retries_are_exhausted_a_fault_is_no_zero(env: str, tmp_path: Path) -> None:
    """One retry is too little where three of ten requests fail: every role gives up in some episodes."""
    cassette = tmp_path / "answers.jsonl"
    accounts().drain()
    with serve_in_thread(faulty(0.3)) as server:
        suite = suite_of(env, server.base_url, cassette=Cassette(cassette, "record"), **settings(env, retries=1))
        tasks = list(suite.tasks)
        played = play_all(suite, tasks)
    assert len(played) == len(tasks)
    met = {role: set(counts["failures"]) for role, counts in accounts().snapshot().items()}
    assert set(met) == ASKED[env]
    for role, kinds in met.items():  # the oracle draws faults from the requests' bytes, so a kind may be missing
        assert kinds <= KINDS, role
        assert len(kinds) >= len(KINDS) - 2, f"the {role} met several kinds: {kinds}"
    broken = {task: outcome for task, outcome in played.items() if not outcome.verdict.valid}
    assert 5 < len(broken) < len(tasks) - 5
    assert {outcome.verdict.fault.role for outcome in broken.values() if outcome.verdict.fault} == ASKED[env]
    for task, outcome in played.items():
        verdict = outcome.verdict
        if verdict.valid:
            assert verdict.reward == 1, task
        else:
            assert verdict.reward is None, task
            assert verdict.fault is not None, f"{task}: {verdict.reason}"
            assert re.search(r"\b[23] tries\)$", verdict.fault.message), verdict.fault
            assert outcome.ended == "fault", task
    again = suite_of(env, "http://127.0.0.1:9/v1", cassette=Cassette(cassette, "replay"), **settings(env, retries=1))
    assert ledgers(play_all(again, tasks)) == ledgers(played)
