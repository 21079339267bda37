"""Signs that something spoils episodes, and by how much two single runs differ by chance."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simia_gym import Fault, evaluate
from simia_gym.cli.app import run
from simia_gym.evaluation.report import make_report
from simia_gym.evaluation.trials import read_series

from .test_report import line, trials, write

RETAIL = "simia/retail-v0"
CALL = {"id": "c", "type": "function", "function": {"name": "list_all_product_types", "arguments": "{}"}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TURNS = 4


def silent(messages: list[Any], tools: list[Any]) -> str:
    return "<think>Let me see.</think> "


def repeats(messages: list[Any], tools: list[Any]) -> Any:
    return ASKS


def varies(messages: list[Any], tools: list[Any]) -> Any:
    return ASKS if len(messages) % 4 == 2 else "Hello."


def refused(messages: list[Any], tools: list[Any]) -> Any:
    return {"role": "assistant", "tool_calls": [{**CALL, "function": {**CALL["function"], "arguments": "{"}}]}  # type: ignore[dict-item]


def cut(messages: list[Any], tools: list[Any]) -> Any:
    return {"role": "assistant", "content": f"I was just about {len(messages)}", "finish_reason": "length"}


ALL, ENDED = {"found": 2 * TURNS, "of": 2 * TURNS}, {"turn_limit": {"found": 2, "of": 2}}
NO_CALL, AGAIN = {"no_tool_call": {"found": 2, "of": 2}}, {"repeated_calls": {"found": 2, "of": 2}}


@pytest.mark.parametrize(
    ("agent", "wanted"),
    [
        (silent, {"empty_turns": ALL, "refused_replies": ALL, **NO_CALL, **AGAIN, **ENDED}),
        (refused, {"refused_replies": ALL, **NO_CALL, **AGAIN, **ENDED}),
        (cut, {"cut_turns": ALL, **NO_CALL, **ENDED}),
        (repeats, AGAIN | ENDED),
        (varies, ENDED),
        ("expert", {}),
    ],
)
def test_what_spoils_episodes_is_counted_with_an_example_and_what_to_do(
    agent: Any, wanted: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "r.jsonl"
    limit: dict[str, Any] = {} if agent == "expert" else {"max_turns": TURNS}
    report = evaluate(RETAIL, agent, limit=2, out=record, progress=False, **limit)
    health = report["series"][0]["health"]
    assert {name: {key: sign[key] for key in ("found", "of")} for name, sign in health.items()} == wanted
    first = report.episodes[0]
    for sign in health.values():
        assert sign["share"] == 1.0
        assert sign["example"] == {name: first[name] for name in ("task", "member", "seed")}
    assert run(["evaluate", str(record)]) == 0
    shown = capsys.readouterr().out
    assert make_report(read_series([record])[0])["series"][0]["health"] == health
    assert ("health of these episodes" in shown) == bool(health)
    assert (f"simia show {record} {first['task']} --member 0" in shown) == bool(health)
    lines = " ".join(shown.split())
    for sign in health.values():
        assert sign["advice"] in lines
        assert f"{sign['found']} of {sign['of']}" in lines


def test_faults_are_told_by_the_length_of_their_episodes() -> None:
    def agent(messages: list[Any], tools: list[Any]) -> Any:
        if len(messages) > 6 and len(messages[1]["content"]) % 2:
            raise Fault("timeout", "no answer", role="policy")
        return ASKS

    report = evaluate(RETAIL, agent, limit=6, max_turns=8, progress=False)
    sign = report["series"][0]["health"]["faults"]
    assert (sign["found"], sign["of"], sign["unit"], sign["share"]) == (3, 6, "episodes", 0.5)
    lengths = [{"turns": "2-3", "episodes": 3, "faults": 3}, {"turns": "8-15", "episodes": 3, "faults": 0}]
    assert sign["by_turns"] == lengths
    assert "by turns: 2-3: 3 of 3; 8-15: 0 of 3" in str(report)


def grouped(groups: dict[str, list[float | None]]) -> list[bytes]:
    """The episodes of groups of four."""
    run = {"seed": 0, "group": 4}
    return [
        line(task, member, None if one is None else one > 0, run=run, group=task, reward=one)
        for task, rewards in groups.items()
        for member, one in enumerate(rewards)
    ]


def test_groups_with_equal_rewards_teach_nothing(tmp_path: Path) -> None:
    lines = grouped({
        "a": [0.0, 0.0, 0.0, 0.0], "b": [0.0, 0.5, 0.5, 0.5], "c": [0.5, None, None, 0.5], "d": [1.0, None, None, None],
        "e": [1.0, 1.0],
    })  # fmt: skip
    found = []
    for number in range(3):
        random.Random(number).shuffle(lines)
        series = read_series([write(tmp_path / f"{number}.jsonl", *lines)])[0]
        found.append(make_report(series)["series"][0]["health"]["equal_rewards"])
    assert (found[0]["found"], found[0]["of"], found[0]["unit"]) == (3, 4, "groups")
    assert found[0]["example"] == {"task": "a", "member": 0, "seed": 1}
    assert found[0] == found[1] == found[2]
    single = trials("a1", "ffff")
    assert make_report(read_series([write(tmp_path / "s.jsonl", *single)])[0])["series"][0]["health"] == {}


def test_what_is_kept_does_not_grow_with_the_episodes(tmp_path: Path) -> None:
    sizes = []
    for count in (10, 300):
        lines = grouped({f"{number:05}": [0.0, 1.0, None, 0.0] for number in range(count)})
        (series,) = read_series([write(tmp_path / f"{count}.jsonl", *lines)])[0]
        assert series.health.to_json()["faults"]["found"] == count
        sizes.append(len(pickle.dumps(series.health)))
    assert sizes[1] < sizes[0] + 50


def test_two_runs_differ_by_what_their_trials_say(tmp_path: Path) -> None:
    """Of 95% of pairs of runs the difference is smaller; here the rates are known, and many pairs are drawn."""
    generator = np.random.default_rng(0)
    rates = generator.uniform(size=50)
    lines = [
        item
        for number, rate in enumerate(rates)
        for item in trials(f"t{number}", "".join("s" if won else "f" for won in generator.random(8) < rate))
    ]
    (one,) = make_report(read_series([write(tmp_path / "r.jsonl", *lines)])[0])["series"]
    chance = one["two_runs"]["pass_at_1"]
    runs = (generator.random((2, 4000, 50)) < rates).mean(axis=2)
    assert chance["from"] == "trials"
    assert 0.92 < (abs(runs[0] - runs[1]) < chance["value"]).mean() < 0.98
    assert one["two_runs"]["mean_reward"]["value"] == pytest.approx(chance["value"])
    assert one["two_runs"]["mean_turns"] == {"value": 0.0, "from": "trials"}


def test_without_two_trials_the_interval_over_tasks_tells_of_two_runs(tmp_path: Path) -> None:
    def report(*lines: bytes) -> Any:
        return make_report(read_series([write(tmp_path / "r.jsonl", *lines)])[0])

    single = [item for number in range(9) for item in trials(f"t{number}", "sf"[number % 2])]
    for lines in (single, [*single, *trials("u", "sf")]):  # one task of ten has two
        made = report(*lines)
        (low, high), chance = (made["series"][0]["pass_at_1"]["interval"], made["series"][0]["two_runs"]["pass_at_1"])
        assert chance == {"value": pytest.approx((high - low) / 2**0.5), "from": "interval"}
        shown = f"two single runs differ by chance by up to {100 * chance['value']:.1f} points of pass@1"
        assert f"{shown} and" in str(made)
        assert "from the interval over tasks" in str(made)
    made = report(*trials("a", "x"))
    assert made["series"][0]["two_runs"]["pass_at_1"] == {"value": None, "from": "none"}
    assert "two single runs" not in str(made)
