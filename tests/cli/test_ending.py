"""Runs that end early, and what is said while they last and afterwards."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from simia_gym.cli.terminal import progress
from simia_gym.common.output import Output
from simia_gym.errors import InputError
from simia_gym.llm.accounts import accounts
from simia_gym.llm.cassette import Cassette
from simia_gym.llm.transport.failures import of_status
from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread
from simia_gym.record.records import Record, read_records
from simia_gym.rollout.store import TakenError, create_store
from simia_gym.rollout.watch import EndpointLostError, Watch

from ..work import wait_until
from .conftest import Simia

RETAIL = "simia/retail-v0"
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def record(desk: str, simia: Simia) -> Record:
    assert simia("rollout", desk, "--episodes", 1, "--out", "r.jsonl").code == 0
    return next(iter(read_records(Path("r.jsonl"))))


def faulted(
    record: Record, kind: str = "connection", role: str = "simulator", message: str = "nobody answers"
) -> Record:
    fault = {"role": role, "kind": kind, "message": message}
    return replace(record, valid=False, fault=fault, key=f"{record.key}x")


@pytest.mark.parametrize(("concurrency", "least"), [(1, 4), (4, 4), (9, 9)])
@pytest.mark.parametrize("kind", ["connection", "auth", "not_found", "timeout"])
def test_the_same_hopeless_fault_in_a_row_ends_the_run(concurrency: int, least: int, kind: str, record: Record) -> None:
    watch = Watch(concurrency)
    for _ in range(least - 1):
        watch.seen(faulted(record, kind))
    with pytest.raises(EndpointLostError, match=f"{least} episodes in a row ended with simulator:{kind}: nobody"):
        watch.seen(faulted(record, kind))
    assert watch.stopped == "endpoint"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (402, {"message": "pay first"}),
        (429, {"message": "no credit", "code": "insufficient_quota"}),
        (429, {"message": "You exceeded your current quota, please check your plan", "type": "requests"}),
        (429, {"message": "off", "code": "billing_not_active"}),
    ],
)
def test_an_account_without_credit_ends_the_run(status: int, body: dict[str, str], record: Record) -> None:
    failure = of_status(status, json.dumps({"error": body}).encode(), {})
    watch = Watch(1)
    for _ in range(3):
        watch.seen(faulted(record, failure.kind, message=failure.message))
    with pytest.raises(EndpointLostError, match=f"4 episodes in a row ended with simulator:rate_limit: HTTP {status}"):
        watch.seen(faulted(record, failure.kind, message=failure.message))


@pytest.mark.parametrize(
    ("messages", "stopped"),
    [
        (["KeyError: 1", "KeyError: 2", "KeyError: 3", "KeyError: 4"], None),
        (["KeyError: 1"] * 5, "bug"),
        (["", *["KeyError: 1"] * 20], None),
        (["ValueError: 1", *["KeyError: 1"] * 20], None),
    ],
)
def test_a_policy_that_never_works_ends_the_run(messages: list[str], stopped: str | None, record: Record) -> None:
    watch, halted = Watch(1), []
    watch.begin(lambda: halted.append(True), ())
    for message in messages:
        watch.seen(faulted(record, "bug", "policy", message) if message else record)
    assert (watch.stopped, len(halted)) == (stopped, 0 if stopped is None else 1)


def test_what_is_not_hopeless_does_not(record: Record) -> None:
    good = replace(record, key="played")
    for between in (good, faulted(record, "server_error"), faulted(record, "auth"), faulted(record, role="user")):
        watch = Watch(4)
        for number in range(12):
            watch.seen(between if number % 4 == 3 else faulted(record))
        assert watch.stopped is None
    watch = Watch(4)
    for _ in range(12):
        watch.seen(faulted(record, "timeout", role="episode"))
        watch.seen(faulted(record, "rate_limit"))
    assert watch.stopped is None


def test_an_episode_of_the_record_says_nothing_about_the_endpoint(record: Record) -> None:
    watch = Watch(1)
    watch.begin(lambda: None, {record.key})
    for _ in range(3):
        watch.seen(record)
        watch.seen(faulted(record))
    watch.seen(record)
    with pytest.raises(EndpointLostError):
        watch.seen(faulted(record))


def test_a_run_whose_server_dies_ends_and_goes_on_later(simia: Simia) -> None:
    words = ("--simulator", "llm", "--model", "oracle", "--episodes", 40, "--concurrency", 2, "--out", "o.jsonl")
    quick = ("--role", "simulator.retries=1", "--role", "simulator.backoff=0.01")
    with serve_in_thread(OracleOptions(latency_ms=20)) as server:
        place = ("--base-url", server.base_url)

        def dies() -> None:
            while not Path("o.jsonl").exists() or Path("o.jsonl").read_bytes().count(b"\n") < 2:
                time.sleep(0.01)
            killed.set()

        killed = threading.Event()
        threading.Thread(target=dies, daemon=True).start()
        result: list[Any] = []
        runner = threading.Thread(
            target=lambda: result.append(simia("rollout", RETAIL, *words, *quick, *place, "--json"))
        )
        runner.start()
        assert killed.wait(30)
    runner.join(30)
    (stopped,) = result
    assert (stopped.code, stopped.json["stopped"]) == (1, "endpoint")
    assert set(stopped.json["fault_kinds"]) == {"simulator:connection"}
    assert 4 <= stopped.json["faults"] <= 6
    done = stopped.json["valid"]
    assert f"{done} of 40 episodes are done" in stopped.err
    assert "continue with: simia " in stopped.err
    assert "stopped: 4 episodes in a row ended with simulator:connection: " in stopped.err
    with serve_in_thread() as server:
        again = simia("rollout", RETAIL, *words, "--base-url", server.base_url, "--resume", "--json")
    assert (again.code, again.json["reused"], again.json["valid"]) == (0, done, 40)
    assert "in this run" in again.err
    assert "tool calls of the whole record" in again.err


def test_faults_on_the_way_can_be_played_again(simia: Simia) -> None:
    with serve_in_thread(OracleOptions(fault_rate=0.5, faults=("server_error",))) as server:
        words = ("--simulator", "llm", "--model", "oracle", "--base-url", server.base_url)
        result = simia("rollout", RETAIL, *words, "--episodes", 4, "--role", "simulator.retries=0")
    assert result.code == 1
    assert "with such faults again: simia " in result.out
    assert "--resume" in result.out


def test_a_budget_lets_those_in_flight_end_and_counts_no_call_that_was_refused(
    simia: Simia, oracle: OracleServer
) -> None:
    words = ("--simulator", "llm", "--model", "oracle", "--base-url", oracle.base_url, "--concurrency", 4, "--json")
    result = simia("rollout", RETAIL, *words, "--episodes", 12, "--max-calls", 7)
    assert result.json["stopped"] == "budget"
    assert result.json["models"]["simulator"]["calls"] == 7
    assert result.json["episodes"] == len(list(read_records(result.json["record"]))) == 4
    accounts().after_fork()
    none = simia("rollout", RETAIL, *words, "--episodes", 12, "--max-tokens", 100)
    assert none.json["models"]["simulator"]["calls"] == 0
    assert "0 calls" in none.err


def test_a_log_without_terminal_says_how_it_goes(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOG_EVERY", 0.2)
    with serve_in_thread(OracleOptions(latency_ms=100)) as server:
        words = ("--simulator", "llm", "--model", "oracle", "--base-url", server.base_url, "--episodes", 3)
        result = simia("rollout", RETAIL, *words, "--json")
    told = [line for line in result.err.splitlines() if line.startswith("after ")]
    assert told
    assert " of 3 episodes done (" in told[0]
    assert "tokens" in told[-1]


def test_the_line_of_a_terminal_moves_between_two_episodes() -> None:
    output = Output(False)
    file = io.StringIO()
    output.console = Console(width=120, height=24, file=file, force_terminal=True, color_system=None)
    display = progress.Display(output, "simia/retail-v0", models=True)
    with display.progress(2):
        accounts().asked("simulator", 1, 1)
        accounts().failed("simulator", "connection")
        wait_until(lambda: "1 call · 0 tokens · 1 retry" in file.getvalue())


def test_a_warning_is_said_once(finish: Simia, oracle: OracleServer) -> None:
    words = ("--simulator", "llm", "--strategy", "reference", "--model", "oracle", "--base-url", oracle.base_url)
    result = finish("rollout", RETAIL, *words, "--episodes", 1)
    assert (result.out + result.err).count("no episode will have a reward") == 1


def test_two_runs_without_out_take_two_files(simia: Simia, desk: str, tmp_path: Path, start: Start) -> None:
    runs = [start("rollout", desk, "--json") for _ in range(4)]
    records = {json.loads(process.communicate(timeout=60)[0].splitlines()[-1])["record"] for process in runs}
    assert records == {f"runs/desk-expert-{number}.jsonl" for number in (1, 2, 3, 4)}


def test_a_taken_file_is_never_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("mine\n")
    monkeypatch.setattr(Path, "exists", lambda self: False)  # as it was a moment ago
    with pytest.raises(TakenError, match="exists already"):
        create_store(path)
    assert path.read_text() == "mine\n"


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


WAITING = """\
import asyncio
from {desk}.expert import Expert

class Waiting(Expert):
    async def act(self, messages):
        await asyncio.sleep(0.03)
        return super().act(messages)
"""


def test_sigterm_is_heard_like_an_interrupt(desk: str, start: Start, finish: Simia, tmp_path: Path) -> None:
    Path("waiting.py").write_text(WAITING.format(desk=desk))
    out = tmp_path / "a.jsonl"
    words = ("rollout", desk, "--policy", "waiting:Waiting", "--group", 40, "--out", out)
    process = start(*words, "--json")
    wait_until(lambda: out.exists() and out.read_bytes().count(b"\n"))
    os.kill(process.pid, signal.SIGTERM)
    said, err = process.communicate(timeout=30)
    assert process.returncode == 143
    assert "told to stop (SIGTERM)" in err
    assert f"continue with: simia rollout {desk}" in err
    assert json.loads(said.splitlines()[-1])["interrupted"] is True
    for record in read_records(out):
        assert record.valid


def test_a_judge_that_has_nothing_to_judge_is_said(simia: Simia, oracle: OracleServer) -> None:
    words = ("rollout", RETAIL, "--episodes", 1, "--model", "oracle", "--base-url", oracle.base_url)
    result = simia(*words, "--simulator", "world", "--judge", "llm")
    assert "warning: the judge will not be asked" in result.out
    assert "expected calls of models: none" in result.out
    assert "warning" not in simia(*words, "--simulator", "world", "--judge", "llm-all").out


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


def test_tls_where_there_is_none(simia: Simia, oracle: OracleServer) -> None:
    place = ("--model", "m", "--base-url", oracle.base_url.replace("http:", "https:"))
    result = simia("rollout", RETAIL, "--simulator", "llm", *place)
    assert result.code == 2
    assert "write http:// instead of https://" in result.err


def test_doctor_names_extras_as_they_are_typed(simia: Simia, monkeypatch: pytest.MonkeyPatch) -> None:
    from simia_gym.cli import doctor

    monkeypatch.setattr(doctor, "_requirements", lambda: iter([("no-such-package", "test")]))
    assert "pip install 'simia-gym[test]'" in simia("doctor", "--json").out
