"""Records in the benchmark's own format, and such files run again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia_gym import read_records, transcript
from simia_gym.cli.app import run as simia
from simia_gym.oracle import OracleOptions, serve_in_thread
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


Compare = Callable[..., tuple[int, JsonObject, str]]


@pytest.fixture
def compared(directory: Path, results: Path, capsys: pytest.CaptureFixture[str]) -> Compare:
    """Compares the recorded rollouts with another side; gives exit code, comparison and what was said beside it."""

    def compare(*more: str, **oracle: Any) -> tuple[int, JsonObject, str]:
        capsys.readouterr()
        words = ["compare", "simia/retail-v0", "--data", str(directory), "--left", "recorded"]
        words += ["--rollouts", str(results), "--json", *more]
        with serve_in_thread(OracleOptions(**oracle)) as server:
            asked = ["--model", "oracle", "--base-url", server.base_url, "--no-pins"] if "world" not in more else []
            code = simia([*words, *asked])
        said = capsys.readouterr()
        return code, json.loads(said.out or "{}"), said.err

    return compare


@pytest.mark.parametrize("mode", ["--open-loop", "--drift"])
@pytest.mark.parametrize("right", ["world", "llm", "llm,render=model"])
def test_a_side_without_mistakes_agrees_with_recorded_rollouts(mode: str, right: str, compared: Compare) -> None:
    code, found, _ = compared("--right", right, mode, "--out", "sides", "--html", "sides.html", "--min-agreement", "1")
    figures = found["figures"]
    assert (code, found["mode"]) == (0, mode.removeprefix("--"))
    assert found["compared"]["simulator"] == ["recorded", right.split(",")[0]]
    assert figures["observation"]["count"] == figures["observation"]["n"] == figures["changes"]["count"] == 4
    assert figures["reward"]["count"] == figures["reward"]["n"] == figures["same_episode"]["count"] == 2
    assert (figures["tokens"]["value"] or 0) > 0 or right == "world"
    assert "It is cancelled, and you get 47 back." in Path("sides.html").read_text(encoding="utf-8")


def test_what_a_model_gets_wrong_of_recorded_rollouts_is_found(compared: Compare) -> None:
    code, found, _ = compared("--right", "llm,render=model", "--open-loop", "--out", "o", wrong_observation_rate=1.0)
    assert found["figures"]["observation"]["count"] < found["figures"]["observation"]["n"] == 4
    assert found["figures"]["changes"]["count"] == 4
    assert code == 0
    words = ("--right", "llm,render=model", "--out", "d", "--min-agreement", "0.9")
    code, drifted, _ = compared(*words, wrong_observation_rate=1.0)
    assert (code, drifted["mode"]) == (1, "drift")
    assert drifted["figures"]["observation"]["count"] < 4


def test_the_record_of_rollouts_has_their_words_and_their_rewards(results: Path, compared: Compare) -> None:
    written: Any = json.loads(results.read_text())
    answered = written["simulations"][0]["messages"]
    assert answered[-2]["content"].startswith("It is cancelled")
    answered[-2]["content"] = '{"refund": 47}'
    written["simulations"][1]["reward_info"] = None
    written["tasks"][1]["evaluation_criteria"]["actions"] = None
    results.write_text(json.dumps(written))
    code, found, _ = compared("--right", "llm", "--out", "o")
    places = [run["id"] for run in written["simulations"]]  # a record has its episodes in the order in which they ended
    left, right = (
        sorted(read_records(f"o/{side}/recorded.jsonl"), key=lambda record: places.index(record.task))
        for side in ("left", "right.drift")
    )
    assert code == 1  # an episode is invalid
    for record in (left[0], right[0]):
        messages = [one for one in transcript(record) if one["role"] in ("user", "assistant")]
        assert [one["role"] for one in messages] == [one["role"] for one in answered if one["role"] != "tool"]
        assert [one["content"] for one in messages if one["role"] == "assistant"] == [
            "Message: &lt;tool_call&gt;oops", "", 'Message: {"refund": 47}'
        ]  # fmt: skip
        assert [one["content"] for one in messages if one["role"] == "user"] == [
            one["content"] for one in answered if one["role"] == "user"
        ]
        assert record.ended == "user_stop"
    assert [record.reward for record in left] == [1.0, None]
    assert found["left"]["invalid"] == 1
    code, again, _ = compared("--right", "llm", "--out", "o", "--resume")
    assert again["figures"] == found["figures"]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--right", "llm"), "--out: the records need a place"),
        (("--right", "world", "--open-loop"), "--open-loop: it needs a record"),
        (("--right", "world", "--html", "page.html"), "--html: it needs a record"),
        (("--right", "llm", "--out", "o", "--policies", "null"), "--policies: each recorded rollout is a task"),
        (("--right", "llm", "--out", "o", "--trials", "2"), "--trials: each recorded rollout is a task"),
        (("--right", "record.jsonl", "--out", "o"), "--right: the right side is a record"),
    ],
)
def test_what_recorded_rollouts_cannot_do_is_refused(words: tuple[str, ...], what: str, compared: Compare) -> None:
    code, _, said = compared(*words)
    assert (code, what in said) == (2, True), said


def test_only_tasks_of_the_benchmark_are_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for env, what in (("retail", "its task is none of the benchmark's"), ("webshop", "no format of its own")):
        assert simia(["rollout", env, "--policy", "null", "--episodes", "1", "--out", f"{env}.jsonl"]) == 0
        assert simia(["export", f"{env}.jsonl", "results.json"]) == 2
        assert what in capsys.readouterr().err
        assert not Path("results.json").exists()
