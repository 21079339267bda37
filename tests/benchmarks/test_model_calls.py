"""The benchmark of model calls: its server answers what was prepared, and its runs take the turns that they count."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from benchmarks.model_calls import server
from benchmarks.model_calls.plan import Cell, cells
from benchmarks.model_calls.running import run_cell
from benchmarks.model_calls.server_limit import stats
from benchmarks.model_calls.summary import goals, summarise
from benchmarks.model_calls.workload import prepare


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("answers") / "episodes.json"
    prepare(path)
    return path


@pytest.fixture(scope="module")
def prepared(answers: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(answers.read_text(encoding="utf-8"))
    return read


@pytest.fixture(scope="module")
def port(answers: Path) -> Iterator[int]:
    command = [sys.executable, server.__file__, f"--answers={answers}", "--latency=0.01"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["port"]
        process.kill()


def ask(port: int, role: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
    body = json.dumps({"model": role, "messages": messages}).encode()
    url = f"http://127.0.0.1:{port}/{role}/v1/chat/completions"
    with urlopen(Request(url, body, {"Content-Type": "application/json"}), timeout=10) as answer:
        message: dict[str, Any] = json.load(answer)["choices"][0]["message"]
    return message


def test_every_opening_has_a_script_of_ten_calls(prepared: dict[str, Any]) -> None:
    assert set(prepared["openings"].values()) == set(prepared["scripts"])
    assert {len(messages) for messages in prepared["scripts"].values()} == {10}
    ids = [message["tool_calls"][0]["id"] for messages in prepared["scripts"].values() for message in messages]
    assert len(ids) == len(set(ids))
    for episode in prepared["episodes"]:
        assert episode["opening"] in prepared["openings"]
        assert [asked in prepared["replies"] for asked in episode["asks"]] == [True] * 10


def test_the_server_plays_a_whole_episode_from_what_it_is_sent(port: int, prepared: dict[str, Any]) -> None:
    start = prepared["episodes"][0]
    script = prepared["scripts"][prepared["openings"][start["opening"]]]
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": start["system"]},
        {"role": "user", "content": start["opening"]},
    ]
    before = stats(port)
    for expected, asked in zip(script, start["asks"], strict=True):
        said = ask(port, "policy", messages)
        assert said == expected
        world = [{"role": "system", "content": start["simulator"]}, {"role": "user", "content": asked}]
        reply = json.loads(ask(port, "simulator", world)["content"])
        assert reply["outcome"] == "ok"
        messages += [said, {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "..."}]
    after = stats(port)
    assert (after["requests"] - before["requests"], after["misses"] - before["misses"]) == (20, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("what", "turns"), [("product", 20), ("naive", 20), ("lockstep", 20)])
def test_a_run_takes_every_turn_over_the_server(answers: Path, what: str, turns: int) -> None:
    options = {"concurrency": 2, "episodes": 2, "seconds": 60}
    result = run_cell(Cell(what, what, options, latency=0.02), {"episodes": answers}, None)
    assert result["turns"] == turns
    assert 0 < result["of_ideal"] <= 1.0
    assert result["cpu_ms_per_turn"] > 0
    assert result["server"]["misses"] == 0


@pytest.mark.parametrize("quick", [True, False])
def test_no_run_takes_the_place_of_another(quick: bool) -> None:
    keys = [cell.key for cell in cells(quick=quick)]
    assert len(keys) == len(set(keys))


def test_goals_are_told_from_medians() -> None:
    def run(what: str, cpu: float, ideal: float, repetition: int) -> dict[str, Any]:
        result = {"concurrency": 256, "cpu_ms_per_turn": cpu, "of_ideal": ideal}
        return {"key": f"{what}{repetition}", "what": what, "result": result}

    runs = [run("product", cpu, 0.96, n) for n, cpu in enumerate((0.2, 9.0, 0.25))]
    runs += [run("naive", 2.5, 0.2, 0), {"key": "gem", "what": "gem", "skipped": "not installed"}]
    summary = summarise(runs)
    assert summary["product"]["256"]["cpu_ms_per_turn"] == {"median": 0.25, "least": 0.2, "most": 9.0}
    assert "gem" not in summary
    found = {row["goal"]: (row["measured"], row["met"]) for row in goals(summary)}
    assert found["CPU ms per turn at 256"] == (0.25, True)
    assert found["of ideal throughput at 256"] == (0.96, True)
    assert found["times less CPU than plain AsyncOpenAI at 256"] == (10.0, False)
