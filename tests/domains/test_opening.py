"""What the opening of an environment does is initial state, for whoever looks at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from simia_gym.domain.registration import CUSTOM
from simia_gym.evaluation.checker import check_folder
from simia_gym.oracle.options import OracleOptions
from simia_gym.oracle.server import serve_in_thread
from simia_gym.rollout.replay import replay_file

from ..proof.stage import suite_of
from ..rollout.conftest import Roll
from .test_waiting import Says, written

MOVE = written("mv log/a.txt log/b.txt")


@pytest.mark.parametrize(("also", "reward"), [("true", 1.0), ("rm tmp/seen.txt", 0.0), ("echo > tmp/seen.txt", 0.0)])
def test_what_the_opening_made_is_not_the_agents_but_what_happens_to_it_is(
    files: Path, also: str, reward: float, tmp_path: Path
) -> None:
    roll = Roll(suite_of(CUSTOM, domain=str(files), split="test"), tmp_path / "r.jsonl")
    roll(lambda: Says(written(also), MOVE, "Done."))
    assert [record.reward for record in roll.records] == [reward]
    assert "./tmp/seen.txt" in roll.records[0].events[1]["text"]
    assert all(proof.proven for proof in replay_file(roll.path))


@pytest.mark.parametrize("strategy", ["ledger", "reference"])
def test_a_model_plays_on_after_the_opening(files: Path, strategy: str, tmp_path: Path) -> None:
    seen = written("cat tmp/seen.txt")
    settings = {"simulator": "llm", "strategy": strategy, "judge": "llm-all", "split": "test"}
    with serve_in_thread(OracleOptions(domains=(str(files),))) as server:
        roll = Roll(suite_of(CUSTOM, server.base_url, domain=str(files), **settings), tmp_path / "r.jsonl")
        roll(lambda: Says(seen, MOVE, "Done."))
    (record,) = roll.records
    answers = [event["observation"] for event in record.events if event["type"] == "transition"]
    assert (answers, record.reward) == (["seen\n", ""], 1.0)
    assert all(proof.proven for proof in replay_file(roll.path))


def test_the_checker_plays_the_gold_actions_after_the_opening(files: Path) -> None:
    tasks = files / "tasks" / "test.jsonl"
    tasks.write_text(tasks.read_text().replace('"init": "', '"init": "rm log/a.txt; '))
    report = check_folder(files)
    assert [item["gold"] for item in report.tasks if item["task"] == "move"] == [False]
    assert any("gold action 0 (run) fails: Error: exit code 1" in problem.what for problem in report.problems)
