from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.envs.webshop.goals import Goal
from simia_gym.envs.webshop.scoring import best_reward
from simia_gym.envs.webshop.user_data import load, read_products
from simia_gym.errors import InputError
from simia_gym.types import JsonObject, Row, Task

from ..proof.stage import take
from .test_products import entry as product


def entry(number: int, **changes: Any) -> JsonObject:
    return product(asin=f"B{number:09d}", name="Desk Clock", query="desk clock", pricing="$10.99 to $14.99", **changes)


def wish(text: str, attributes: list[Any], options: list[str]) -> JsonObject:
    return {"instruction": text, "instruction_attributes": attributes, "instruction_options": options}


def write(folder: Path, name: str, value: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def tasks_of(path: Path) -> list[Task]:
    data = load(path)
    assert isinstance(data.tasks, Mapping)
    for split, tasks in data.tasks.items():
        assert all(task.split == split for task in tasks)
    return [task for tasks in data.tasks.values() for task in tasks]


def rows_of(path: Path) -> list[Row]:
    data = load(path)
    assert data.tables is not None
    return list(data.tables["products"].values())


def test_goals_from_human_instructions(tmp_path: Path) -> None:
    write(tmp_path, "items_shuffle_1000.json", [entry(1), entry(2), entry(3)])
    instructions = {"B000000002": {"attributes": ["quiet"], **wish("x", ["quiet"], [])}}
    write(tmp_path, "items_ins_v2_1000.json", instructions)
    human = {
        "B000000001": [wish("i want a red desk clock.", ["quiet"], ["red"]), wish("no attributes", [], [])],
        "B999999999": [wish("another shop", ["a"], [])],
    }
    write(tmp_path, "items_human_ins.json", human)
    (task,) = tasks_of(tmp_path)
    assert task.kind == "human"
    goal = Goal.model_validate(task.options["goal"])
    assert (goal.asin, goal.attributes, goal.goal_options) == ("B000000001", ("quiet",), ("red",))
    assert goal.price_upper in (30.0, 40.0, 50.0)
    assert task.instruction == f"i want a red desk clock, and price lower than {goal.price_upper:.2f} dollars"
    assert rows_of(tmp_path)[1]["attributes"] == ["quiet"]


def test_goals_from_synthetic_instructions(tmp_path: Path) -> None:
    file = write(tmp_path, "items_shuffle.json", [entry(1), {**entry(2), "pricing": "$985"}, entry(3)])
    instructions = {
        "B000000001": {"attributes": ["quiet"], **wish("Find me quiet clocks", ["quiet"], [])},
        "B000000002": {"attributes": ["tick"], **wish("Find me clocks", ["tick"], [])},
        "B000000003": {"attributes": ["loud"], "instruction": None, "instruction_attributes": []},
    }
    write(tmp_path, "items_ins_v2.json", instructions)
    tasks = tasks_of(file)
    assert {task.kind for task in tasks} == {"synthetic"}
    by_asin = {task.options["goal"]["asin"]: task for task in tasks}
    assert set(by_asin) == {"B000000001", "B000000002"}
    first = by_asin["B000000001"]
    (option,) = first.options["goal"]["goal_options"]
    assert option in ("red", "black | white")
    assert first.instruction is not None
    assert first.instruction.startswith(f"Find me quiet clocks with color: {option}, and price lower than ")
    # Fewer than two bounds lie above 985 dollars, so this goal has none.
    assert by_asin["B000000002"].options["goal"]["price_upper"] == 1_000_000.0
    assert "price lower" not in str(by_asin["B000000002"].instruction)


def test_goals_from_nothing_but_products(tmp_path: Path) -> None:
    items = [entry(n, Attributes=["quiet", "long lasting"]) for n in range(1, 13)]
    file = write(tmp_path, "my products.json", items)
    tasks = tasks_of(file)
    assert {task.kind for task in tasks} == {"own"}
    assert {task.split for task in tasks} == {"train", "test"}
    rows = {row["asin"]: row for row in rows_of(file)}
    goals = [Goal.model_validate(task.options["goal"]) for task in tasks]
    assert all(best_reward(rows[goal.asin], goal) == 1.0 for goal in goals)
    assert len({task.id for task in tasks}) == len(tasks)


async def test_it_plays(tmp_path: Path) -> None:
    write(tmp_path, "items_shuffle_1000.json", [entry(n, Attributes=["quiet"]) for n in range(1, 13)])
    suite = load_suite(EnvConfig(env="simia/webshop-v0", split="all", data=str(tmp_path)))
    goal = suite.tasks[0].options["goal"]
    clicks = [f"click[{name}]" for name in (goal["asin"], goal["goal_options"][0], "buy now")]
    verdict = (await take(suite, suite.tasks[0], ["search[desk clock]", *clicks])).verdict
    assert verdict is not None
    assert verdict.reward == 1.0
    assert suite.domain.hash != load_suite(EnvConfig(env="simia/webshop-v0")).domain.hash
    with pytest.raises(InputError, match="no task generator"):
        load_suite(EnvConfig(env="simia/webshop-v0", data=str(tmp_path), generated=1))


def test_same_files_same_data(tmp_path: Path) -> None:
    file = write(tmp_path, "a.json", [entry(1, Attributes=["quiet"])])
    first = load(file)
    assert load(file) == first
    write(tmp_path, "a.json", [entry(1, Attributes=["loud"])])
    assert load(file).hash != first.hash


def test_what_is_left_out_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = write(tmp_path, "a.json", [entry(1), entry(1), {**entry(2), "asin": "nan"}, {**entry(3), "name": 5}])
    with caplog.at_level(logging.WARNING):
        assert list(read_products(file, {})) == ["B000000001"]
    assert "2 broken and 1 repeated" in caplog.text
    assert "a.json[2]" in caplog.text


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, ["holds none", "Name the product file"]),
        ({"items_shuffle.json": [], "items_shuffle_1000.json": []}, ["2 product files", "items_shuffle_1000.json"]),
        ({"a.json": {}}, ["a.json", "WebShop product file"]),
        ({"a.json": []}, ["holds no products"]),
        ({"a.json": [{"asin": "B1"}]}, ["a.json[0].name"]),
        ({"a.json": [entry(1)]}, ["no goal can be made", "items_ins_v2.json"]),
        ({"a.json": [entry(1)], "items_human_ins.json": []}, ["items_human_ins.json", "{asin: ...}"]),
        (
            {"a.json": [entry(1)], "items_human_ins.json": {"B000000001": [{"instruction": 3}]}},
            ["items_human_ins.json: B000000001[0].instruction"],
        ),
        (
            {"a.json": [entry(1)], "items_ins_v2.json": {"B000000001": wish("x", [1], [])}},
            ["items_ins_v2.json: B000000001.instruction_attributes[0]"],
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, files: dict[str, Any], words: list[str]) -> None:
    for name, value in files.items():
        write(tmp_path, name, value)
    with pytest.raises(InputError) as caught:
        load(tmp_path)
    assert all(word in str(caught.value) for word in words), str(caught.value)
