"""Scores of records that are written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simia_gym.errors import InputError
from simia_gym.evaluation.report import listed_ks, make_report
from simia_gym.evaluation.trials import read_series
from simia_gym.record.records import Record
from simia_gym.rollout.jobs import content_key


def line(task: str, member: int, success: bool | None, *, policy: str = "p", seed: int = 0, **more: Any) -> bytes:
    """An episode of which only the score is told; ``None`` is a fault."""
    valid = success is not None
    fault = None if valid else {"role": "simulator", "kind": "timeout", "message": "no answer"}
    fields: dict[str, Any] = {
        "line": 0,
        "key": content_key(task, member, policy, seed),
        "run": {"seed": seed, "group": 1},
        "config": {"env": "simia/x-v0", "split": "test"},
        "domain_hash": "d",
        "task": task,
        "kind": task[0],
        "split": "test",
        "seed": 1,
        "group": f"{task}#{member}",
        "member": member,
        "policy": policy,
        "reward": None if success is None else float(success),
        "valid": valid,
        "success": bool(success),
        "score": None,
        "turns": 4,
        "ended": "",
        "verdict": {},
        "fault": fault,
        "events": [],
        "head": "",
    }
    return Record(**{**fields, **more}).to_line()


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def trials(task: str, outcomes: str, **more: Any) -> list[bytes]:
    """One line for each letter: ``s`` succeeded, ``f`` failed, ``x`` has a fault."""
    return [line(task, n, {"s": True, "f": False, "x": None}[letter], **more) for n, letter in enumerate(outcomes)]


def report(*paths: Path) -> Any:
    return make_report(read_series(paths)[0])


def test_pass_hat_k_is_averaged_over_tasks(tmp_path: Path) -> None:
    """a1: 3 of 4, a2: 2 of 4, b1: 4 of 4. pass^2: (3/6 + 1/6 + 1)/3; pass@2: (1 + 5/6 + 1)/3."""
    path = write(tmp_path / "r.jsonl", *trials("a1", "sssf"), *trials("a2", "fssf"), *trials("b1", "ssss"))
    (one,) = report(path)["series"]
    assert one["pass_at_1"]["value"] == pytest.approx(9 / 12)
    assert one["pass_hat_k"]["1"] == one["pass_at_1"] == one["pass_at_k"]["1"]
    assert one["pass_hat_k"]["2"]["value"] == pytest.approx(5 / 9)
    assert one["pass_at_k"]["2"]["value"] == pytest.approx(17 / 18)
    assert one["pass_hat_k"]["4"]["value"] == pytest.approx(1 / 3)
    assert one["kinds"]["a"]["pass_hat_k"]["2"]["value"] == pytest.approx(1 / 3)
    assert (one["tasks"], one["episodes"], one["valid"], one["invalid"]) == (3, 12, 12, 0)
    assert one["tasks_with_fewer_valid_trials_than_k"] == {}


def test_invalid_trials_count_in_nothing_and_tasks_without_enough_are_left_out_and_told(tmp_path: Path) -> None:
    """a1: 1 of 2 valid, a2: 3 of 3, a3: none. pass^1: (1/2 + 1)/2; pass^3: of a2 alone."""
    path = write(tmp_path / "r.jsonl", *trials("a1", "sxf"), *trials("a2", "sss"), *trials("a3", "xxx"))
    (one,) = report(path)["series"]
    assert (one["episodes"], one["valid"], one["invalid"]) == (9, 5, 4)
    assert one["faults"] == {"simulator:timeout": 4}
    assert one["pass_at_1"] == {**one["pass_at_1"], "value": pytest.approx(3 / 4), "tasks": 2}
    assert one["pass_hat_k"]["3"] == {**one["pass_hat_k"]["3"], "value": 1.0, "tasks": 1}
    assert one["tasks_with_fewer_valid_trials_than_k"] == {"1": 1, "2": 1, "3": 2}
    assert one["mean_reward"]["value"] == pytest.approx(3 / 4)


def test_two_policies_are_paired_by_task(tmp_path: Path) -> None:
    one = write(tmp_path / "1.jsonl", *trials("a1", "sf"), *trials("a2", "ff"), *trials("a3", "ss"))
    two = write(
        tmp_path / "2.jsonl", *trials("a1", "ss", policy="q"), *trials("a2", "sx", policy="q"), *trials("b9", "f")
    )
    found = report(one, two)
    assert [item["label"] for item in found["series"]] == ["p, 1.jsonl", "q", "p, 2.jsonl"]
    pair = found["pairs"][0]
    assert (pair["tasks"], pair["only_first"], pair["only_second"]) == (2, 1, 0)
    assert pair["pass_at_1"]["value"] == pytest.approx((0.5 + 1.0) / 2)
    assert pair["pass_hat_k"]["2"] == {**pair["pass_hat_k"]["2"], "value": 1.0, "tasks": 1}
    nothing = found["pairs"][1]
    assert nothing["tasks"] == 0
    assert nothing["pass_at_1"]["value"] is None


CONFIG = {"env": "simia/x-v0", "split": "test"}


@pytest.mark.parametrize(
    ("series", "labels"),
    [
        ([{"config": CONFIG}, {"config": {**CONFIG, "max_turns": 5}}], ["p, max_turns by default", "p, max_turns 5"]),
        ([{"config": {**CONFIG, "user": name}} for name in ("llm", "script")], ["p, user llm", "p, user script"]),
        ([{"config": CONFIG}, {"config": {**CONFIG, "prompt": "compact"}}], ["p, prompt full", "p, prompt compact"]),
        ([{"run": {"seed": 0, "group": size}} for size in (1, 4)], ["p, group 1", "p, group 4"]),
        ([{"run": {"seed": seed, "group": 1}} for seed in range(3)], [f"p, seed {seed}" for seed in range(3)]),
        (
            [{"config": {**CONFIG, "max_turns": n}, "run": {"seed": 0, "group": n}} for n in (5, 6)],
            ["p, group 5, max_turns 5", "p, group 6, max_turns 6"],
        ),
        (  # they differ where a short label does not show it
            [{"config": {**CONFIG, "options": {"text": "a" * 60 + end}}} for end in "xy"],
            ["p, number 1", "p, number 2"],
        ),
    ],
)
def test_series_of_one_file_are_told_apart_by_what_differs(
    series: list[dict[str, Any]], labels: list[str], tmp_path: Path
) -> None:
    path = write(tmp_path / "r.jsonl", *(item for one in series for item in trials("a1", "s", **one)))
    found = report(path)["series"]
    assert [one["label"] for one in found] == labels
    assert [one["prompt"] for one in found] == [one.get("config", {}).get("prompt", "full") for one in series]


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    paths = [write(tmp_path / name / "e.jsonl", *trials("a1", "sf")) for name in ("a", "b")]
    assert [one["label"] for one in report(*paths)["series"]] == [f"p, {path}" for path in paths]


def test_turns_are_no_proportion_where_every_task_took_one(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", *(line(f"a{n}", 0, True, turns=1) for n in range(5)))
    (one,) = report(path)["series"]
    assert one["mean_turns"] == {"value": 1.0, "interval": [1.0, 1.0], "tasks": 5, "method": "bootstrap"}
    assert one["mean_reward"]["method"] == "wilson"


def test_files_that_cannot_be_scored_are_refused(tmp_path: Path) -> None:
    one = trials("a1", "s")
    empty, full = write(tmp_path / "e.jsonl"), write(tmp_path / "f.jsonl", *one)
    twice, newer = write(tmp_path / "r.jsonl", *one, *one), write(tmp_path / "v.jsonl", one[0].replace(b"2", b"7", 1))
    for paths, says in [
        ((empty,), "no finished episode"),
        ((full, full), "given twice"),
        ((tmp_path / "nowhere.jsonl",), "there is no such record"),
        ((twice,), "r.jsonl:2: the episode of task 'a1', member 0, occurs twice"),
        ((newer,), "is of version 7"),
    ]:
        with pytest.raises(InputError, match=says):
            report(*paths)


def test_a_torn_last_line_is_left_out_and_told(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", *trials("a1", "sf"), trials("a2", "s")[0][:60])
    series, warnings = read_series([path])
    assert list(series[0].tasks) == ["a1"]
    assert len(warnings) == 1
    assert "torn" in warnings[0]


def test_ks() -> None:
    assert listed_ks(0) == []
    assert listed_ks(3) == [1, 2, 3]
    assert listed_ks(20) == [1, 2, 3, 4, 5, 6, 7, 8, 16, 20]
    assert listed_ks(32) == [1, 2, 3, 4, 5, 6, 7, 8, 16, 32]
