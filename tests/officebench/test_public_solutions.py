"""Scripts of actions solve the benchmark's own tasks, and do not when a value in them is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.officebench.test_public import play
from tests.sandbox.conftest import needs_sandbox

SOLUTIONS: dict[str, list[tuple[str, dict[str, Any]]]] = yaml.safe_load(
    Path(__file__).with_name("solutions.yaml").read_text()
)


def played(folder: Path, task: str, calls: list[tuple[str, dict[str, Any]]]) -> float:
    return play(folder / "officebench", f"officebench-{task.replace('/', '-')}", *calls)


@pytest.mark.parametrize(
    "task",
    [
        pytest.param(task, marks=[needs_sandbox] if any(name == "shell_command" for name, _ in calls) else [])
        for task, calls in SOLUTIONS.items()
    ],
)
def test_a_script_turns_a_task_from_false_to_true(shared_data: Path, task: str) -> None:
    assert played(shared_data, task, []) == 0.0
    assert played(shared_data, task, SOLUTIONS[task]) == 1.0


@pytest.mark.parametrize(
    ("task", "changes"),
    [
        pytest.param("1-1/0", {"time_start": "2024-05-17 10:45:00"}, id="contain-wrong_time"),
        pytest.param("1-2/0", {"time_start": "2024-05-01 00:00:00"}, id="calendar_no_overlap"),
        pytest.param("2-40/1", {"content": "class nap lunch dinner sleeping"}, id="not_contain-all_of_them"),
        pytest.param("2-13/1", {"user": "Bob"}, id="file_not_exist-wrong_user"),
        pytest.param("1-4/0", {"text": "99"}, id="excel_cell_value-wrong_value"),
        pytest.param("1-4/0", {"row_idx": 11}, id="excel_cell_value-wrong_cell"),
        pytest.param("1-6/0", {"text": "6"}, id="excel_cell_comparator"),
        pytest.param("1-14/0", {"text": "1"}, id="exact_match"),
        pytest.param("1-7/0", {"row_idx": 2}, id="diff_contain_text-wrong_row"),
        pytest.param("1-16/1", {"contents": "a file"}, id="contain-wrong_text"),
    ],
)
def test_a_wrong_value_turns_a_task_back(shared_data: Path, task: str, changes: dict[str, Any]) -> None:
    calls = [(name, dict(given)) for name, given in SOLUTIONS[task]]
    spoiled = [given for _, given in calls if set(changes) <= set(given)]
    assert spoiled
    for given in spoiled:
        given.update(changes)
    assert played(shared_data, task, calls) == 0.0


@pytest.mark.parametrize("task", ["2-40/3", "2-14/0", "2-42/0"])
def test_without_its_last_call_a_task_is_not_solved(shared_data: Path, task: str) -> None:
    assert played(shared_data, task, SOLUTIONS[task][:-1]) == 0.0


def test_all_evaluators_occur_among_the_solved_tasks(shared_data: Path) -> None:
    lines = (shared_data / "officebench" / "tasks_1_2_apps.jsonl").read_text().splitlines()
    tasks = {f"{one['task_id']}/{one['subtask']}": one for one in map(json.loads, lines)}
    solved = {item["function"] for task in SOLUTIONS for item in tasks[task]["evaluation"]}
    assert len(SOLUTIONS) >= 40
    assert solved == {item["function"] for one in tasks.values() for item in one["evaluation"]}
    assert len(solved) == 9
