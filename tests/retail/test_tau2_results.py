"""Records in the benchmark's own format, and such files run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.app import run as simia
from simia_gym.types import JsonObject

from ..domains.shell import Says
from ..proof.stage import suite_of
from ..rollout.conftest import Roll
from ..simulators.desk import tool_call


@pytest.fixture
def results(directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (task, _) = map(json.loads, (directory / "tasks_train.jsonl").read_text().splitlines())
    order = task["evaluation_criteria"]["actions"][1]["arguments"]["order_id"]
    wrong = tool_call("get_user_details", user_id="nobody")
    call = tool_call("cancel_pending_order", order_id=order, reason="no longer needed")
    said = ("It is cancelled, and you get 47 back.", "Is there anything else?", "Bye.")
    suite = suite_of("simia/retail-v0", data=str(directory), max_turns=5)
    Roll(suite, Path("record.jsonl"))(lambda: Says("<tool_call>oops", wrong + call, *said))
    assert simia(["export", "record.jsonl", "results.json"]) == 0
    return Path("results.json")


def verified(directory: Path, results: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, JsonObject]:
    capsys.readouterr()
    code = simia(["verify-recorded", "retail", "--data", str(directory), "--rollouts", str(results), "--json"])
    found: JsonObject = json.loads(capsys.readouterr().out)
    return code, found


def test_what_is_exported_runs_again(directory: Path, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = json.loads(results.read_text())
    first, second = written["simulations"]
    assert [task["id"] for task in written["tasks"]] == [run["task_id"] for run in (first, second)] == ["0", "1"]
    assert written["tasks"][0]["user_scenario"]["instructions"]["reason_for_call"] == "Cancel an order."
    assert [action["name"] for action in written["tasks"][0]["evaluation_criteria"]["actions"]] == [
        "get_user_details",
        "cancel_pending_order",
    ]
    assert (first["reward_info"]["reward"], second["reward_info"]["reward"]) == (1.0, 0.0)
    assert second["reward_info"]["db_check"] == {"db_match": False, "db_reward": 0.0}
    calls = next(message["tool_calls"] for message in first["messages"] if message.get("tool_calls"))
    answers = [message for message in first["messages"] if message["role"] == "tool"]
    assert [answer["id"] for answer in answers] == [call["id"] for call in calls]
    assert [answer["error"] for answer in answers] == [True, False]
    assert first["termination_reason"] == "user_stop"
    code, found = verified(directory, results, capsys)
    assert (code, found["pairs"], found["identical"]) == (0, 4, 4)
    assert (found["outcome_checked"], found["outcome_agree"]) == (2, 2)


def test_what_differs_is_told_in_short_lines(
    directory: Path, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written: Any = json.loads(results.read_text())
    answers = [message for message in written["simulations"][0]["messages"] if message["role"] == "tool"]
    answers[1]["content"] = answers[1]["content"].replace("47", "48") + "\n"
    written["simulations"][1]["reward_info"]["reward"] = 1.0
    results.write_text(json.dumps(written))
    code, found = verified(directory, results, capsys)
    assert (code, len(found["differences"])) == (1, 2)
    assert all("\n" not in text and len(text) < 400 for text in found["differences"])
    assert "cancel_pending_order" in found["differences"][0]
    assert found["differences"][1].endswith("outcome: expected 1.0, got 0.0")


def test_what_differs_is_found_by_a_comparison(
    directory: Path, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written: Any = json.loads(results.read_text())
    answers = [message for message in written["simulations"][0]["messages"] if message["role"] == "tool"]
    answers[1]["content"] = answers[1]["content"].replace("47", "48")
    written["simulations"][1]["reward_info"]["reward"] = 1.0
    results.write_text(json.dumps(written))
    capsys.readouterr()
    words = ["compare", "simia/retail-v0", "--data", str(directory), "--left", "recorded", "--right", "world", "--json"]
    assert simia([*words, "--rollouts", str(results), "--min-agreement", "0.9"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["figures"]["observation"]["count"], found["figures"]["observation"]["n"]) == (3, 4)
    assert [(flip["left"], flip["right"]) for flip in found["flips"]] == [(1.0, 0.0)]
    assert {(one["kind"], one["who"]) for one in found["divergences"]} == {
        ("observation", "cancel_pending_order"),
        ("reward", ""),
    }


def test_only_tasks_of_the_benchmark_are_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for env, what in (("retail", "its task is none of the benchmark's"), ("webshop", "no format of its own")):
        assert simia(["rollout", env, "--policy", "null", "--episodes", "1", "--out", f"{env}.jsonl"]) == 0
        assert simia(["export", f"{env}.jsonl", "results.json"]) == 2
        assert what in capsys.readouterr().err
        assert not Path("results.json").exists()
