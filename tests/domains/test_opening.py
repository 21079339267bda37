"""What the opening of an environment does is initial state, for whoever looks at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from simia_gym.evaluation.checker import check_folder

from ..engine.conftest import edit
from .shell import played, transitions, written

MOVE = written("mv log/a.txt log/b.txt")


@pytest.mark.parametrize(("also", "reward"), [("true", 1.0), ("rm tmp/seen.txt", 0.0), ("echo > tmp/seen.txt", 0.0)])
def test_what_the_opening_made_is_not_the_agents_but_what_happens_to_it_is(
    files: Path, also: str, reward: float, tmp_path: Path
) -> None:
    record = played(files, tmp_path / "r", written(also), MOVE)
    assert record.reward == reward
    assert "./tmp/seen.txt" in record.events[1]["text"]


@pytest.mark.parametrize("strategy", ["ledger", "reference"])
@pytest.mark.slow
def test_a_model_plays_on_after_the_opening(files: Path, strategy: str, tmp_path: Path) -> None:
    settings = {"simulator": "llm", "strategy": strategy, "judge": "llm-all"}
    record = played(files, tmp_path / "r", written("cat tmp/seen.txt"), MOVE, **settings)
    answers = [event["observation"] for event in transitions(record)]
    assert (answers, record.reward) == (["seen\n", ""], 1.0)


@pytest.mark.slow
def test_the_checker_plays_the_gold_actions_after_the_opening(files: Path) -> None:
    edit("tasks/test.jsonl", '"init": "', '"init": "rm log/a.txt; ')(files)
    report = check_folder(files)
    assert [item["gold"] for item in report.tasks if item["task"] == "move"] == [False]
    assert any("gold action 0 (run) fails: Error: exit code 1" in problem.what for problem in report.problems)
