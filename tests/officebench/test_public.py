"""The benchmark's own tasks: they load, their evaluators run, and true turns false where it should."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from simia_gym.cli.app import run as simia
from simia_gym.envs.officebench.evaluators import allowed_values
from simia_gym.envs.officebench.grammar import AnswerGrammar
from simia_gym.errors import InputError
from simia_gym.types import Calls, ToolCall

ENV = "simia/officebench-v0"


@pytest.fixture
def office(shared_data: Path) -> Path:
    return shared_data / "officebench"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder in the benchmark's layout with a task of our own."""
    import openpyxl

    book = openpyxl.Workbook()
    for row in (["Name", "Hours"], ["Bob", 12]):
        book.active.append(row)
    bed = tmp_path / "office" / "testbeds" / "1-1" / "data"
    bed.mkdir(parents=True)
    book.save(bed / "team.xlsx")
    evaluation = [
        {
            "function": "evaluate_excel_cell_value",
            "args": {"file": "data/team.xlsx", "matches": [cell("2", "2", "13")]},
        },
        {"function": "evaluate_contain", "args": {"doc_type": "txt", "file": "data/answer.txt", "keywords": ["1013"]}},
    ]
    day = {"username": "Bob", "date": "2024-05-06", "weekday": "Monday", "time": "10:00 AM"}
    task = {"task_id": "1-1", "subtask": "0", **day, "task": "Give Bob one hour more.", "evaluation": evaluation}
    (tmp_path / "office" / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    return tmp_path / "office"


def cell(row: str, column: str, value: str) -> dict[str, str]:
    return {"row": row, "col": column, "value": value}


def play(folder: Path, task: str, *calls: tuple[str, dict[str, Any]]) -> float:
    """The reward of calls, each in its app."""
    env = gym.make(ENV, data=str(folder), split="all")
    env.reset(options={"task": task})
    app = "system"
    for name, arguments in [*calls, ("system_finish_task", {"answer": ""})]:
        needed = name.partition("_")[0]
        turns = [ToolCall(name, arguments)]
        if needed not in (app, "system"):
            app = needed
            turns = [ToolCall("system_switch_app", {"target_app": app}), *turns]
        for turn in turns:
            _, reward, ended, _, info = env.step(AnswerGrammar().render(Calls((turn,))))
            if ended:
                assert info["verdict"].valid
                return float(reward)
    raise AssertionError("the episode goes on")


SET = ("excel_set_cell", {"file_path": "data/team.xlsx", "row_idx": 2, "column_idx": 2, "text": "13"})


@pytest.mark.parametrize(
    ("calls", "reward"),
    [
        ([SET, ("system_finish_task", {"answer": "It is 1,013 now."})], 1.0),
        ([SET, ("system_finish_task", {"answer": "It is 13 now."})], 0.0),
        ([SET], 0.0),
        ([("system_finish_task", {"answer": "1,013"})], 0.0),
    ],
)
def test_a_task_is_solved_if_all_its_evaluators_hold(own: Path, calls: Any, reward: float) -> None:
    assert play(own, "officebench-1-1-0", *calls) == reward


def test_every_public_evaluator_runs_or_has_a_cause(office: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simia(["verify-recorded", "officebench", "--data", str(office), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tasks"], found["evaluators"], found["evaluators_run"]) == (188, 264, 262)
    assert set(found["causes"]) == {"1-14/2", "2-48/0"}
    assert found["true_at_start"] == ["1-11/3", "1-2/1", "2-16/0", "2-25/0"]


def test_a_checkout_is_read_like_a_folder(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = json.loads((own / "tasks.jsonl").read_text())
    place = tmp_path / "checkout" / "tasks" / "1-1"
    shutil.copytree(own / "testbeds" / "1-1", place / "testbed")
    (place / "subtasks").mkdir()
    (place / "subtasks" / "0.json").write_text(json.dumps(task))
    assert simia(["verify-recorded", "officebench", "--data", str(tmp_path / "checkout"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evaluators_run"] == 2
    assert play(tmp_path / "checkout", "officebench-1-1-0", SET) == 0.0


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: (folder / "testbeds/1-1/data/team.xlsx").write_bytes(b"no workbook"), "team.xlsx"),
        (lambda folder: (folder / "tasks.jsonl").write_text("{}\n"), "tasks.jsonl:1"),
        (lambda folder: (folder / "tasks.jsonl").unlink(), "holds no tasks"),
    ],
)
def test_broken_data_are_named(own: Path, spoil: Any, says: str) -> None:
    spoil(own)
    with pytest.raises(InputError, match=says):
        gym.make(ENV, data=str(own))


def test_a_comparator_is_read_and_never_run() -> None:
    assert allowed_values("lambda x: x in ['1', '2']") == ("1", "2")
    for text in ("lambda x: x in [open('x')]", "print", "lambda x: y in ['1']"):
        with pytest.raises(ValueError, match=r"is no list|malformed"):
            allowed_values(text)
