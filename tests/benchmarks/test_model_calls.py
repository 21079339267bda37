"""The benchmark of model calls: its runs take the turns that they count, from answers that were prepared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.model_calls.plan import Cell, cells
from benchmarks.model_calls.running import run_cell
from benchmarks.model_calls.summary import goals, summarise
from benchmarks.model_calls.workload import prepare


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("answers") / "episodes.json"
    prepare(path)
    return path


@pytest.mark.slow
def test_every_opening_has_a_script_of_ten_calls(answers: Path) -> None:
    prepared = json.loads(answers.read_text(encoding="utf-8"))
    assert set(prepared["openings"].values()) == set(prepared["scripts"])
    assert {len(messages) for messages in prepared["scripts"].values()} == {10}
    ids = [message["tool_calls"][0]["id"] for messages in prepared["scripts"].values() for message in messages]
    assert len(ids) == len(set(ids))
    for episode in prepared["episodes"]:
        assert episode["opening"] in prepared["openings"]
        assert [asked in prepared["replies"] for asked in episode["asks"]] == [True] * 10


@pytest.mark.slow
@pytest.mark.parametrize("what", ["product", "naive", "lockstep"])
def test_a_run_takes_every_turn_over_the_server(answers: Path, what: str) -> None:
    options = {"concurrency": 2, "episodes": 2, "seconds": 60}
    result = run_cell(Cell(what, what, options, latency=0.02), {"episodes": answers}, None)
    assert result["turns"] == 20
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
