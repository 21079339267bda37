"""The public benchmark's data directory as the shop's database and tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from simia_gym.envs.retail.world import load_benchmark
from simia_gym.errors import InputError

from .conftest import make_task


def test_tables_are_brought_into_form(directory: Path) -> None:
    data = load_benchmark(directory)
    assert data.tables is not None
    orders = data.tables["orders"]
    paid = {json.dumps(order["payment_history"][0]["amount"]) for order in orders.values()}
    assert "47.0" in paid
    assert all(order["return_items"] is None and len(order) == 14 for order in orders.values())
    assert (data.policy, data.user) == ("Be nice.", "brief")
    assert data.options == {"compat": "tau2"}


def test_tasks(directory: Path) -> None:
    data = load_benchmark(directory)
    assert isinstance(data.tasks, Mapping)
    assert {split: [task.id for task in tasks] for split, tasks in data.tasks.items()} == {
        "train": ["0", "1"],
        "test": ["2"],
    }
    first, second = data.tasks["train"]
    assert first.user == {
        "type": "brief",
        "reason": "Cancel an order.",
        "known": "A name.",
        "unknown": "",
        "instructions": "Be brief.",
    }
    assert first.options["communicate_info"] == ["47"]
    assert first.goal is not None
    assert [op["value"] for op in first.goal if op["path"].endswith("/status")] == ["cancelled"]
    assert (second.goal, second.kind) == ((), "tau2")


def test_tasks_as_one_list_with_a_file_of_splits(directory: Path) -> None:
    for name in ("tasks_train.jsonl", "tasks_test.jsonl"):
        (directory / name).unlink()
    (directory / "tasks.json").write_text(json.dumps([make_task("7", [], []), make_task("8", [], [])]))
    (directory / "split_tasks.json").write_text(json.dumps({"train": ["7"], "test": ["8"], "version": "1"}))
    data = load_benchmark(directory)
    assert isinstance(data.tasks, Mapping)
    assert [(task.id, task.split) for split in ("train", "test") for task in data.tasks[split]] == [
        ("7", "train"),
        ("8", "test"),
    ]


def test_the_hash_tells_data_sets_apart(directory: Path) -> None:
    first = load_benchmark(directory).hash
    assert load_benchmark(directory).hash == first
    (directory / "policy.md").write_text("Be very nice.")
    assert load_benchmark(directory).hash != first


def test_only_the_database_is_needed(directory: Path) -> None:
    for file in directory.iterdir():
        if file.name != "db.json":
            file.unlink()
    data = load_benchmark(directory)
    assert data.tasks == {"train": (), "test": ()}
    assert data.policy is None


def _changed(file: str, change: Callable[[Any], object]) -> Callable[[Path], object]:
    def apply(directory: Path) -> None:
        value = json.loads((directory / file).read_text())
        change(value)
        (directory / file).write_text(json.dumps(value))

    return apply


_database = partial(_changed, "db.json")
_task = partial(_changed, "tasks_test.jsonl")


def _first(table: dict[str, Any]) -> Any:
    return next(iter(table.values()))


MISTAKES: list[tuple[Callable[[Path], object], str]] = [
    (lambda d: (d / "db.json").unlink(), "db.json: there is no such database"),
    (lambda d: (d / "db.json").write_text('{"a": }'), "db.json:1:7: not valid JSON"),
    (lambda d: (d / "db.json").write_text("[]"), "db.json: "),
    (_database(lambda v: v.pop("users")), "db.json: users"),
    (_database(lambda v: v.update(flights={})), "db.json: flights"),
    (_database(lambda v: v.update(users=[])), "db.json: users"),
    (_database(lambda v: _first(v["users"]).pop("email")), "'email' is a required property"),
    (_database(lambda v: _first(v["orders"]).update(user_id=5)), "user_id: 5 is not"),
    (_database(lambda v: _first(_first(v["products"])["variants"]).update(price="12")), ".price"),
    (_database(lambda v: _first(v["orders"]).update(status="lost")), "status: 'lost' is not"),
    (_database(lambda v: _first(v["users"])["payment_methods"].update(x={"source": "cash"})), "payment_methods.x: "),
    (_database(lambda v: _first(_first(v["products"])["variants"]).update(available=1)), ".available"),
    (_database(lambda v: _first(v["users"]).update(user_id="x")), "user_id is 'x', but its row is kept as"),
    (lambda d: (d / "tasks_test.jsonl").write_text("\n{"), "tasks_test.jsonl:2:2: not valid JSON"),
    (lambda d: (d / "tasks_test.jsonl").write_text("{}"), "tasks_test.jsonl:1: id"),
    (lambda d: (d / "tasks_test.jsonl").write_text("3"), "tasks_test.jsonl:1: "),
    (_task(lambda v: v.update(id="0")), "task id '0' occurs at"),
    (_task(lambda v: v.pop("user_scenario")), "jsonl:1: user_scenario"),
    (_task(lambda v: v["user_scenario"]["instructions"].update(domain="airline")), "domain 'airline'"),
    (_task(lambda v: v["evaluation_criteria"].update(actions=["x"])), "evaluation_criteria.actions[0]"),
    (_task(lambda v: v["evaluation_criteria"].update(communicate_info="x")), "evaluation_criteria.communicate_info"),
    (_task(lambda v: v.update(initial_state={})), "jsonl:1: initial_state"),
    (lambda d: (d / "tasks.json").write_text("{}"), "tasks.json: "),
    (lambda d: (d / "split_tasks.json").write_text("[]"), "split_tasks.json: "),
    (lambda d: (d / "split_tasks.json").write_text('{"train": 7}'), "split_tasks.json: train: "),
]


@pytest.mark.parametrize(("spoil", "named"), MISTAKES)
@pytest.mark.sampled
def test_mistakes_are_named(directory: Path, spoil: Callable[[Path], object], named: str) -> None:
    spoil(directory)
    with pytest.raises(InputError) as caught:
        load_benchmark(directory)
    assert named in str(caught.value)
    assert str(directory) in str(caught.value)


@pytest.mark.parametrize("path", ["missing", "db.json"])
def test_not_a_directory(directory: Path, path: str) -> None:
    with pytest.raises(InputError, match="director"):
        load_benchmark(directory / path)


def test_the_real_directory(shared_data: Path) -> None:
    data = load_benchmark(shared_data / "tau2" / "retail")
    assert isinstance(data.tasks, Mapping)
    assert sum(bool(task.goal) for task in data.tasks["train"]) == 67
    assert all(task.user and task.user["reason"] for task in data.tasks["train"])
