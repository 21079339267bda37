"""Runs that end early, and what is said while they last and afterwards."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.terminal import progress
from simia_gym.errors import InputError
from simia_gym.llm.cassette import Cassette
from simia_gym.llm.transport.failures import of_status
from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread
from simia_gym.record.records import Record, read_records
from simia_gym.rollout.watch import EndpointLostError, Watch

from ..work import wait_until
from .conftest import Simia

RETAIL = "simia/retail-v0"


@pytest.fixture
def record(desk: str, simia: Simia) -> Record:
    assert simia("rollout", desk, "--episodes", 1, "--out", "r.jsonl").code == 0
    return next(iter(read_records(Path("r.jsonl"))))


CREDIT = of_status(402, b'{"error": {"message": "pay first"}}', {}).message
QUOTA = of_status(429, b'{"error": {"message": "no credit", "code": "insufficient_quota"}}', {}).message
BUG = "policy:bug:KeyError: 1"


@pytest.mark.parametrize(
    ("concurrency", "faults", "stopped"),
    [
        *((1, [f"simulator:{kind}:x"] * 4, "endpoint") for kind in ("connection", "auth", "not_found", "timeout")),
        (9, ["simulator:connection:x"] * 9, "endpoint"),
        (1, [f"simulator:rate_limit:{CREDIT}"] * 4, "endpoint"),
        (1, [f"simulator:rate_limit:{QUOTA}"] * 4, "endpoint"),
        (1, [*["known", "simulator:auth:x"] * 3, "simulator:auth:x"], "endpoint"),
        (1, ["simulator:rate_limit:slow down"] * 10, "faults"),
        (1, ["", *["simulator:rate_limit:slow down"] * 20], None),
        (12, ["judge:bad_reply:x"] * 12, "faults"),
        (1, ["episode:timeout:x"] * 10, "faults"),
        *((1, [*["simulator:auth:x"] * 3, other] * 3, None) for other in ("", "user:auth:x", "simulator:timeout:x")),
        (1, [BUG] * 5, "bug"),
        (1, [f"policy:bug:KeyError: {number}" for number in range(5)], "bug"),
        (1, ["", *[BUG] * 20], None),
        (1, ["policy:bug:ValueError: 1", *[BUG] * 9], "faults"),
    ],
)
@pytest.mark.sampled
def test_a_run_ends_when_nothing_else_can_come(
    concurrency: int, faults: list[str], stopped: str | None, record: Record
) -> None:
    watch, halted = Watch(concurrency), []
    watch.begin(lambda: halted.append(True), {"known"})
    for number, text in enumerate(faults, 1):
        role, kind, message = text.split(":", 2) if ":" in text else ("", "", "")
        fault = {"role": role, "kind": kind, "message": message} if role else None
        episode = replace(record, valid=fault is None, fault=fault, key=text if text == "known" else str(number))
        if stopped == "endpoint" and number == len(faults):
            with pytest.raises(EndpointLostError, match=f"episodes in a row ended with {role}:{kind}: "):
                watch.seen(episode)
        else:
            assert watch.stopped is None
            watch.seen(episode)
    assert (watch.stopped, len(halted)) == (stopped, int(stopped in ("bug", "faults")))


@pytest.mark.slow
def test_a_run_whose_server_dies_ends_and_goes_on_later(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOG_EVERY", 0.02)
    words = ["rollout", RETAIL, "--simulator", "llm", "--model", "oracle", "--out", "o.jsonl", "--json"]
    words += ["--concurrency", "2", "--episodes", "40"]
    quick = ("--role", "simulator.retries=1", "--role", "simulator.backoff=0.01")
    result: list[Any] = []
    with serve_in_thread(OracleOptions(latency_ms=20)) as server:
        place = ("--base-url", server.base_url)
        runner = threading.Thread(target=lambda: result.append(simia(*words, *quick, *place)))
        runner.start()
        wait_until(lambda: Path("o.jsonl").exists() and Path("o.jsonl").read_bytes().count(b"\n") >= 2)
    runner.join(30)
    (stopped,) = result
    assert (stopped.code, stopped.json["stopped"]) == (1, "endpoint")
    assert set(stopped.json["fault_kinds"]) == {"simulator:connection"}
    assert 4 <= stopped.json["faults"] <= 6
    done = stopped.json["valid"]
    assert f"{done} of 40 episodes are done" in stopped.err
    assert "continue with: simia " in stopped.err
    logged = [line for line in stopped.err.splitlines() if line.startswith("after ")]
    assert " of 40 episodes done (" in logged[0]
    assert "tokens" in logged[-1]
    with serve_in_thread() as server:
        again = simia(*words, "--base-url", server.base_url, "--resume")
    assert (again.code, again.json["reused"], again.json["valid"]) == (0, done, 40)
    assert "in this run" in again.err
    assert "tool calls of the whole record" in again.err


@pytest.mark.slow
def test_a_budget_lets_those_in_flight_end_and_resume_goes_on(simia: Simia, oracle: OracleServer) -> None:
    words = ["rollout", RETAIL, "--simulator", "llm", "--render", "model", "--model", "oracle", "--json"]
    words += ["--base-url", oracle.base_url, "--episodes", "12", "--concurrency", "4", "--out", "o.jsonl"]
    result = simia(*words, "--max-calls", 7)
    assert (result.code, result.json["stopped"], set(result.json["fault_kinds"])) == (1, "budget", {"simulator:budget"})
    assert result.json["models"]["simulator"]["calls"] == 7
    assert 1 <= result.json["valid"] < result.json["episodes"] == len(list(read_records(Path("o.jsonl")))) <= 4
    assert "--resume" in result.err
    whole = simia(*words, "--max-calls", 200, "--resume")
    assert (whole.code, whole.json["valid"], whole.json["reused"]) == (0, 12, result.json["valid"])
    assert "simulator llm" in simia("evaluate", "o.jsonl").out
    none = simia(*words[:-1], "new.jsonl", "--max-tokens", 100)
    assert none.json["models"]["simulator"]["calls"] == 0


@pytest.mark.parametrize("roles", [(), ("--user", "llm")], ids=len)
def test_a_budget_finishes_episodes_instead_of_beginning_all(
    roles: tuple[str, ...], simia: Simia, oracle: OracleServer
) -> None:
    words = ("rollout", RETAIL, "--simulator", "llm", "--render", "model", *roles, "--model", "oracle")
    words += ("--base-url", oracle.base_url, "--episodes", "40")
    result = simia(*words, "--concurrency", 40, "--max-calls", 40, "--json", "--out", "o.jsonl")
    taken = sum(role["calls"] for role in result.json["models"].values())
    assert (result.json["stopped"], taken) == ("budget", 40)
    assert result.json["valid"] >= 2
    assert result.json["faults"] <= 3


@pytest.mark.slow
def test_a_warning_is_said_once(finish: Simia, oracle: OracleServer) -> None:
    words = ("--simulator", "llm", "--strategy", "reference", "--model", "oracle", "--base-url", oracle.base_url)
    result = finish("rollout", RETAIL, *words, "--episodes", 1)
    assert (result.out + result.err).count("no episode will have a reward") == 1


def test_two_recordings_never_write_to_one_cassette(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    first = Cassette(path, "record")
    with pytest.raises(InputError, match="another process is recording to it"):
        Cassette(path, "record", resume=True)
    with pytest.raises(InputError, match="--resume"):
        Cassette(path, "record")
    first.close()
    Cassette(path, "record", resume=True).close()
    forgotten: Cassette | None = Cassette(path, "record", resume=True)
    assert forgotten is not None
    forgotten = None
    Cassette(path, "record", resume=True).close()


def test_a_cassette_of_another_model_is_refused_before_the_first_episode(simia: Simia, oracle: OracleServer) -> None:
    words = ("rollout", RETAIL, "--episodes", 1, "--simulator", "llm")
    place = ("--model", "oracle", "--base-url", oracle.base_url)
    assert simia(*words, *place, "--record-cassette", "c.jsonl", "--out", "a.jsonl").code == 0
    result = simia(*words, "--model", "other", "--replay-cassette", "c.jsonl")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "c.jsonl: it holds answers of oracle for the simulator, none of other. Name oracle" in result.err


def test_a_judge_that_has_nothing_to_judge_is_said(simia: Simia, oracle: OracleServer) -> None:
    place = ("--episodes", 1, "--model", "oracle", "--base-url", oracle.base_url, "--simulator", "world")
    result = simia("rollout", "webshop", *place, "--judge", "llm")
    assert "warning: the judge will not be asked" in result.out
    assert "expected calls of models: none" in result.out
    # Services have criteria that no program decides; with llm-all, the judge decides every criterion.
    for words in ((RETAIL, "--judge", "llm"), (RETAIL, "--judge", "llm-all")):
        assert "warning" not in simia("rollout", *words, *place).out


def test_answers_shared_in_groups_are_explained(simia: Simia, oracle: OracleServer) -> None:
    words = ("--simulator", "llm", "--model", "oracle", "--base-url", oracle.base_url, "--shadow", "--json")
    result = simia("rollout", RETAIL, *words, "--episodes", 4, "--group", 4)
    asked = result.json["models"]["simulator"]["calls"]
    assert f"the model was called {asked} times; the other answers are shared within groups" in result.err
    assert re.search(r"simulator: .* \(\d+% cached, at most \d+% cacheable\)", result.err)
    assert "; state: wrong value 0" in result.err
    stateless = simia("rollout", RETAIL, *words, "--strategy", "reference", "--judge", "llm", "--episodes", 1)
    assert "compared with the world" in stateless.err
    assert "; state:" not in stateless.err
