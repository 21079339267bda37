"""Comparisons of two records: figures, pairing, what is refused."""

from __future__ import annotations

import itertools
import math
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import simia_gym
from simia_gym.errors import InputError
from simia_gym.record.records import read_records

from .test_report import line, trials, write

RETAIL = "simia/retail-v0"
AGREE = ("observation", "outcome", "error_code", "changes", "final_state", "user_reply", "same_episode", "reward")
NEVER = ("missed_writes", "spurious_writes", "wrong_writes", "false_positives", "false_negatives")


def play(path: str, policy: str = "expert", **settings: Any) -> str:
    simia_gym.evaluate(RETAIL, policy, out=path, generated=8, split="test", **settings)
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_world_agrees_with_itself_in_everything(here: Path) -> None:
    first, second = play("one.jsonl", "expert:0.3", trials=2), play("two.jsonl", "expert:0.3", trials=2, concurrency=1)
    lines = Path(second).read_bytes().splitlines(keepends=True)
    Path(second).write_bytes(b"".join(reversed(lines)))  # the order of lines means nothing
    found = simia_gym.compare(first, second)
    assert found.compared == {}
    assert {name: found.figures[name].value for name in AGREE} == dict.fromkeys(AGREE, 1.0)
    assert {name: found.figures[name].count for name in NEVER} == dict.fromkeys(NEVER, 0)
    assert (found.flips, found.divergences, found.figures["kappa"].value) == ((), {}, 1.0)
    assert found.figures["tokens"].note.startswith("not applicable")
    assert len(found.pairs) == len(lines) == found.figures["same_episode"].n
    assert all(low < 1 for low, _ in [found.figures[name].interval or (1, 1) for name in AGREE])
    assert found.short_of(min_agreement=1, max_flips=0) == []
    assert found == simia_gym.compare(first, second)


def test_the_compared_setting_is_named_and_the_first_divergence_found(here: Path) -> None:
    first, second = play("one.jsonl"), play("two.jsonl", "null", prompt="compact")
    found = simia_gym.compare(first, second)
    assert found.compared == {"prompt": ("full", "compact"), "policy": ("expert", "null")}
    assert {kind for kind, _ in found.divergences} == {"action"}
    assert len(found.flips) == found.figures["false_negatives"].count == len(found.pairs)
    assert found.figures["false_positives"].value is None
    assert found.figures["false_positives"].note.startswith("undefined")
    assert found.figures["kappa"].value == 0
    assert (
        found.figures["final_state"].count == sum(pair.final_state is True for pair in found.pairs) < len(found.pairs)
    )
    first_event = found.pairs[0].divergence
    assert first_event is not None
    assert first_event.left != first_event.right
    assert found.short_of(min_agreement=0.9, max_flips=1) == [
        "the agreement of rewards is 0.0000, less than 0.9",
        f"{len(found.flips)} tasks flipped, more than 1",
    ]


def test_rewards_are_paired_by_task_and_member(tmp_path: Path) -> None:
    left = write(
        tmp_path / "l.jsonl", *trials("a", "ssff"), *trials("b", "ssss"), *trials("c", "fx"), *trials("d", "s")
    )
    right = write(
        tmp_path / "r.jsonl", *trials("a", "sfsf"), *trials("b", "sssf"), *trials("c", "fs"), *trials("e", "s")
    )
    found = simia_gym.compare(left, right)
    figures = found.figures
    assert len(found.pairs) == 10
    assert (found.left.unpaired, found.right.unpaired, found.left.invalid, found.right.invalid) == (1, 1, 1, 0)
    assert (figures["reward"].n, figures["reward"].count, figures["reward"].tasks) == (9, 6, 3)
    assert (figures["false_positives"].count, figures["false_positives"].n) == (1, 3)
    assert (figures["false_negatives"].count, figures["false_negatives"].n) == (2, 6)
    both, left_only, right_only, neither = 4, 2, 1, 2
    chance = ((both + left_only) * (both + right_only) + (neither + left_only) * (neither + right_only)) / 81
    assert figures["kappa"].value == pytest.approx((6 / 9 - chance) / (1 - chance))
    assert [(flip.task, flip.left, flip.right) for flip in found.flips] == [("a", 0.5, 0.5), ("b", 1.0, 0.75)]
    for name in ("observation", "changes", "final_state", "user_reply"):
        assert figures[name].value is None
        assert figures[name].note.startswith("not applicable")


RATES = {
    "p": ("ssss", "ssss"),
    "q": ("sssf", "sssf"),
    "r": ("ssff", "ffff"),
    "t": ("sfff", "ssff"),
    "u": ("ffff", "sfff"),
}


def test_the_order_of_policies_is_kendalls(tmp_path: Path) -> None:
    for side, name in enumerate(("left", "right")):
        (tmp_path / name).mkdir()
        for policy, outcomes in RATES.items():
            lines = [each for task in "abc" for each in trials(task, outcomes[side], policy=policy)]
            write(tmp_path / name / f"{policy}.jsonl", *lines)
    found = simia_gym.compare(tmp_path / "left", tmp_path / "right")
    means = [[outcomes[side].count("s") / 4 for outcomes in RATES.values()] for side in (0, 1)]
    signs = [[(a > b) - (a < b) for a, b in itertools.combinations(side, 2)] for side in means]
    spread = math.sqrt(math.prod(sum(sign * sign for sign in side) for side in signs))
    expected = sum(a * b for a, b in zip(*signs, strict=True)) / spread
    assert found.figures["policy_order"].value == pytest.approx(expected)
    assert found.figures["policy_order"].n == len(RATES)
    assert found.figures["largest_over_estimate"].value == pytest.approx(0.25)
    assert [one.left.value for one in found.policies] == pytest.approx(means[0])
    assert any("an order of 5 policies" in warning for warning in found.warnings)
    assert "Kendall" in str(found)


BROKEN: dict[str, tuple[list[bytes], str]] = {
    "another domain": (trials("a", "s", config={"env": "simia/y-v0"}), "the left side is of simia/x-v0"),
    "another version": (trials("a", "s", domain_hash="e"), "has version d on the left side and e"),
    "no common task": (trials("z", "s"), "no episode in common"),
    "twice": ([*trials("a", "s"), *trials("a", "s")], "occurs twice"),
    "two settings": ([*trials("a", "s"), *trials("b", "s", run={"seed": 4, "group": 1})], "its seed is 4, before it 0"),
    "two versions of a policy": (
        [*trials("a", "s"), *trials("b", "s", run={"seed": 0, "group": 1, "policy_hash": "x"})],
        "two versions of the policy",
    ),
    "empty": ([], "no finished episode"),
    "no record": ([b"{}\n"], "is no record"),
    "no JSON": ([b"nothing\n"], "not valid JSON"),
    "not torn": ([b"nothing"], "its last line is none"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_compared_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    lines, says = BROKEN[name]
    left, right = write(tmp_path / "l.jsonl", *trials("a", "s")), write(tmp_path / "r.jsonl", *lines)
    with pytest.raises(InputError, match=says) as caught:
        simia_gym.compare(left, right)
    assert "\n" not in str(caught.value)


def test_missing_files_and_folders_without_records_are_refused(tmp_path: Path) -> None:
    there = write(tmp_path / "l.jsonl", *trials("a", "s"))
    (tmp_path / "empty").mkdir()
    for path, says in (("none.jsonl", "no such record"), ("empty", "holds no record")):
        with pytest.raises(InputError, match=says):
            simia_gym.compare(there, tmp_path / path)


def test_another_content_of_a_task_is_refused(here: Path) -> None:
    first = play("one.jsonl")
    (record, *_) = read_records(first)
    content = {**record.start["content"], "task": "0" * 64}
    events = [{**record.events[0], "content": content}, *record.events[1:]]
    fields = {**record.to_json(), "events": events}
    del fields["v"]
    Path("two.jsonl").write_bytes(simia_gym.Record(line=0, **fields).to_line())
    with pytest.raises(InputError, match=f"task {record.task} has another content"):
        simia_gym.compare(first, "two.jsonl")


def test_a_torn_last_line_is_left_out_and_said(tmp_path: Path) -> None:
    left = write(tmp_path / "l.jsonl", *trials("a", "ss"))
    right = write(tmp_path / "r.jsonl", *trials("a", "s"), line("a", 1, True)[:-30])
    found = simia_gym.compare(left, right)
    assert len(found.pairs) == 1
    assert any("torn" in warning for warning in found.warnings)


def test_memory_hardly_grows_with_the_number_of_episodes(tmp_path: Path) -> None:
    def peak(number: int) -> int:
        left, right = (
            write(tmp_path / f"{side}{number}.jsonl", *(line(f"task {i}", 0, True) for i in range(number)))
            for side in "lr"
        )
        tracemalloc.start()
        try:
            assert len(simia_gym.compare(left, right).pairs) == number
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)  # what is imported or cached once
    assert peak(500) - peak(100) < 400 * 1_300


def test_pandas_is_asked_for_only_when_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = (write(tmp_path / f"{name}.jsonl", *trials("a", "s")) for name in "lr")
    found = simia_gym.compare(left, right)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pandas is not installed"):
        found.to_pandas()
    rows: list[dict[str, Any]] = []
    monkeypatch.setitem(sys.modules, "pandas", type("Pandas", (), {"DataFrame": staticmethod(rows.extend)}))
    found.to_pandas()
    assert rows[0]["task"] == "a"
    assert (rows[0]["left_success"], rows[0]["divergence_kind"]) == (True, None)
