"""`simia evaluate`: a rollout with a report, and reports of records that are there."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from simia_gym.record.records import read_records

from .conftest import HALF, Simia, tables_of

FLAKY = """
class Flaky:
    def start(self, start): self.fine = start.seed % 3 > 0
    def act(self, messages):
        from expert import Expert
        return Expert().act(messages) if self.fine else "<tool_call>{}</tool_call>"
"""


@pytest.fixture
def flaky(desk: str) -> str:
    """A policy that succeeds in two of three trials."""
    Path("expert.py").write_text((Path(desk) / "expert.py").read_text())
    Path("flaky.py").write_text(FLAKY)
    return "flaky.py:Flaky"


def test_scores_are_those_of_the_record(desk: str, flaky: str, simia: Simia) -> None:
    result = simia("evaluate", desk, "--policy", flaky, "--trials", 6, "--split", "all", "--json", "--report", "r.json")
    (one,) = result.json["series"]
    records = list(read_records(result.json["run"]["record"]))
    assert len({record.group for record in records}) == len(records)  # no two trials share a world
    by_task: dict[str, list[bool]] = {}
    for record in records:
        by_task.setdefault(record.task, []).append(record.success)
    rates = [sum(outcomes) / 6 for outcomes in by_task.values()]
    assert 0 < sum(rates) < len(rates)
    assert (one["tasks"], one["episodes"], one["prompt"]) == (len(rates), 6 * len(rates), "full")
    assert one["pass_at_1"]["value"] == pytest.approx(sum(rates) / len(rates))
    assert one["pass_hat_k"]["6"]["value"] == pytest.approx(sum(rate == 1 for rate in rates) / len(rates))
    low, high = one["pass_at_1"]["interval"]
    assert low <= one["pass_at_1"]["value"] <= high
    assert json.loads(Path("r.json").read_text()) == result.json
    Path("link.json").symlink_to("later.json")
    again = simia("evaluate", result.json["run"]["record"], "--report", "link.json", "--json")
    assert (again.code, again.json["series"]) == (0, [one])
    assert Path("link.json").is_symlink()
    assert json.loads(Path("later.json").read_text()) == again.json


@pytest.mark.slow
def test_records_side_by_side_fit_the_terminal(
    desk: str, flaky: str, simia: Simia, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {"all"}
    for name, policy in (("a", flaky), ("b", "expert")):
        words = ("--split", "all", "--trials", 3, "--policy", policy, "--out", f"{name}.jsonl")
        assert simia("evaluate", desk, *words).code == 0
        kinds |= {record.kind for record in read_records(f"{name}.jsonl")}
    (pair,) = simia("evaluate", "a.jsonl", "b.jsonl", "--json").json["pairs"]
    assert (pair["first"], pair["second"]) == (flaky, "expert")
    assert pair["pass_at_1"]["value"] > 0
    for width in (60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        tables = tables_of(simia("evaluate", "a.jsonl", "b.jsonl").out)
        assert tables["task kind"].keys() == kinds
        assert tables["policy"].keys() == {flaky, "expert"}
        assert list(tables["second - first"]) == [f"expert - {flaky}"]
        assert all({"pass@1", "95% CI"} <= row.keys() for row in tables["policy"].values())
        assert not any("…" in cell for rows in tables.values() for row in rows.values() for cell in row.values())


def test_faults_are_counted_and_never_failures(desk: str, simia: Simia) -> None:
    Path("half.py").write_text(HALF)
    result = simia("evaluate", desk, "--split", "all", "--trials", 8, "--policy", "half.py:Half", "--json")
    (one,) = result.json["series"]
    assert (result.code, one["faults"]) == (1, {"policy:bug": one["invalid"]})
    assert 0 < one["invalid"] == one["episodes"] - one["valid"]
    assert one["tasks_with_fewer_valid_trials_than_k"]
    shown = simia("evaluate", result.json["run"]["record"])
    assert shown.code == 1
    assert "invalid and count in no score: policy:bug" in shown.out
    assert "left out" in shown.out


def test_more_trials_continue_the_record(desk: str, simia: Simia) -> None:
    words = ("evaluate", desk, "--split", "all", "--out", "r.jsonl", "--json")
    first = simia(*words, "--trials", 2, "--resume").json  # there is none yet, so it begins one
    before = Path("r.jsonl").read_bytes()
    assert simia(*words, "--trials", 2).code == 2
    more = simia(*words, "--trials", 4, "--resume").json
    assert more["run"]["reused"] == first["series"][0]["episodes"]
    assert more["series"][0]["episodes"] == 2 * first["series"][0]["episodes"]
    assert Path("r.jsonl").read_bytes().startswith(before)


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed here")
def test_without_ray_it_is_said_what_to_install(desk: str, simia: Simia) -> None:
    result = simia("rollout", desk, "--ray")
    assert result.code == 2
    assert 'ray is not installed. Install it: pip install "simia-gym[ray]"' in result.err


def test_some_tasks_are_chosen_and_a_record_goes_on_with_others(desk: str, simia: Simia) -> None:
    every = simia("evaluate", desk, "--split", "all", "--out", "all.jsonl", "--json").json["series"][0]
    ids = [record.task for record in read_records(Path("all.jsonl"))]
    assert len(ids) == every["episodes"] > 3
    chosen = ["--task", ids[2], "--task", ids[0]]
    out = Path("some.jsonl")
    for command in ("rollout", "evaluate"):
        out.unlink(missing_ok=True)
        assert simia(command, desk, "--split", "all", *chosen, "--out", out).code == 0
        assert [record.task for record in read_records(out)] == [ids[2], ids[0]]
    assert simia("evaluate", desk, "--split", "all", "--limit", 3, "--out", out, "--resume").code == 0
    played = {record.task: record.to_line() for record in read_records(out)}
    assert played == {one.task: one.to_line() for one in read_records(Path("all.jsonl")) if one.task in ids[:3]}
    refused = simia("rollout", desk, "--split", "all", "--task", ids[0][:-1])
    assert (refused.code, "--task: there is no task" in refused.err, ids[0] in refused.err) == (2, True, True)
    assert "--task" in simia("rollout", "all", "--out", "new", "--task", "t").err
