"""Every part is a model's, a fifth of all requests meet a fault, and the run is played again from its cassette."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simia_gym.llm.accounts import accounts
from simia_gym.oracle import OracleOptions, serve_in_thread
from simia_gym.oracle.options import FAULTS
from simia_gym.record.records import Record, read_records

from .conftest import Simia

ENV = "simia/retail-v0"
ROLES = ("simulator", "user", "judge")
EPISODES = 12


def words(out: str, retries: int) -> list[Any]:
    """A rollout of groups. The judge judges everything: else programs judge all of retail, and nobody asks it."""
    parts = ["--simulator", "llm", "--user", "llm", "--judge", "llm-all", "--model", "oracle"]
    patience = {"retries": retries, "timeout": 0.4, "backoff": 0.01}
    for role in ROLES:
        for name, value in patience.items():
            parts += ["--role", f"{role}.{name}={value}"]
    return ["rollout", ENV, "--episodes", EPISODES, "--group", 2, "--out", out, *parts, "--json"]


def lines(name: str) -> list[bytes]:
    """All lines, whole: no time and no address stands in them. Only their order is that in which episodes ended."""
    return sorted(Path(name).read_bytes().splitlines(keepends=True))


def play(simia: Simia, retries: int) -> tuple[Any, list[Record]]:
    """Record a run, play it again from its cassette when the endpoint is gone, and make sure that they are the same."""
    with serve_in_thread(OracleOptions(fault_rate=0.2, hang=1.0, seed=4)) as server:
        first = simia(*words("first.jsonl", retries), "--base-url", server.base_url, "--record-cassette", "c.jsonl")
        met = set(server.counts["faults"])
        assert met <= set(FAULTS)
        assert len(met) >= 5, "several kinds of faults were met"
    spent = first.json["models"]
    assert set(spent) == set(ROLES)
    for role in ROLES:
        assert spent[role]["failures"], f"the {role} met faults"
        assert spent[role]["retries"], role
    accounts().after_fork()
    again = simia(*words("again.jsonl", retries), "--replay-cassette", "c.jsonl")
    assert again.json["models"] == {}, "nobody was asked"
    assert lines("again.jsonl") == lines("first.jsonl")
    assert len(lines("first.jsonl")) == EPISODES
    assert b"127.0.0.1" not in b"".join(lines("first.jsonl"))
    assert again.code == first.code
    for name in ("valid", "mean_reward", "fault_kinds", "routes"):
        assert again.json[name] == first.json[name], name
    return first, list(read_records(Path("first.jsonl")))


def test_with_retries_the_run_is_whole_and_its_cassette_gives_the_same_bytes(simia: Simia) -> None:
    result, records = play(simia, retries=8)
    assert result.code == 0, result.err
    assert (result.json["valid"], result.json["faults"], result.json["mean_reward"]) == (EPISODES, 0, 1)
    assert [(record.valid, record.reward) for record in records] == [(True, 1)] * EPISODES


def test_exhausted_retries_are_no_zeros_and_their_cassette_gives_the_same_bytes(simia: Simia) -> None:
    result, records = play(simia, retries=1)
    assert result.code == 1
    broken = [record for record in records if record.fault is not None]
    assert 0 < len(broken) < EPISODES
    assert all((record.valid, record.reward, record.ended) == (False, None, "fault") for record in broken)
    assert all((record.valid, record.reward) == (True, 1) for record in records if record.fault is None)
    assert (result.json["valid"], result.json["faults"]) == (EPISODES - len(broken), len(broken))
    assert result.json["mean_reward"] == 1, "means leave them out"
