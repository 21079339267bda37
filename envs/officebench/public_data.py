"""Loads OfficeBench's own tasks by path: a checkout of it, or a folder with its tasks in one file.

    checkout/tasks/1-2/subtasks/0.json     checkout/tasks/1-2/testbed/     checkout/tasks/1-2/reference/
    folder/*.jsonl (with task_id, subtask)     folder/testbeds/1-2/     folder/references/1-2/

The files of a testbed become rows; calendars become events, and mails those of their folders' users. What a task's
evaluators need and the data lacks is a cause, and such a task is left out of play.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from simia_gym.common.files import read_json, read_jsonl
from simia_gym.common.validation import validated
from simia_gym.domain.data import DomainData, files_hash
from simia_gym.envs.officebench.evaluators import allowed_values
from simia_gym.envs.officebench.formats.folder import Office, address_of, read_office
from simia_gym.envs.officebench.formats.reading import file_row
from simia_gym.envs.officebench.paths import ROOT
from simia_gym.errors import InputError
from simia_gym.state import make_pointer
from simia_gym.types import JsonObject, Split, Task

_FIX = "Name a checkout of OfficeBench, or a folder with a .jsonl of its tasks and the folders testbeds and references."
_NAME = re.compile(r"\b[A-Z][a-z]+\b")
_CALENDAR = re.compile(r"calendar/([^/]+)\.ics$")
_PROGRAM = "simia_gym.envs.officebench.evaluators:"


class _Evaluation(BaseModel):
    function: str
    args: JsonObject = {}


class _Subtask(BaseModel):
    task_id: str
    subtask: str
    username: str
    date: str
    weekday: str
    time: str
    task: str
    evaluation: list[_Evaluation]


@dataclass
class Public:
    """One task of the benchmark.

    Attributes:
        name: Its name, such as ``1-2/0``.
        task: The task.
        evaluators: How many evaluators it has.
        causes: Why evaluators of it cannot run.
        pictures: Whether its office holds pictures, which no app reads.
        contents: The bytes of its office's files, by hash.
    """

    name: str
    task: Task
    evaluators: int
    causes: list[str] = field(default_factory=list)
    pictures: bool = False
    contents: Mapping[str, JsonObject] = field(default_factory=dict)


def load(path: Path) -> DomainData:
    """Load the benchmark's tasks: of one app for training, of several for tests, as in the paper's setting.

    Args:
        path: The checkout or the folder.

    Raises:
        InputError: There are no tasks, a file is broken, or a library is missing; names file and fix.
    """
    found = [one for one in read_public(path) if not one.causes]
    tasks: dict[Split, list[Task]] = {"train": [], "test": []}
    for one in found:
        tasks[one.task.split].append(one.task)
    files = sorted(file for file in path.rglob("*") if file.is_file() and ".git" not in file.parts)
    own = Path(__file__).with_name("state.json")
    contents = {key: row for one in found for key, row in one.contents.items()}
    tables = {**read_json(own), "people": {}, "contents": contents}
    return DomainData(
        tables=tables,
        tasks=tasks,
        options={"shell": True},
        reward="simia_gym.envs.officebench.evaluators:PublishedReward",
        hash=files_hash(files),
    )


def read_public(path: Path) -> list[Public]:
    """All tasks of the benchmark, those whose evaluators cannot run included.

    Raises:
        InputError: As `load`.
    """
    if not path.is_dir():
        raise InputError("there is no such folder", where=str(path), fix=_FIX)
    office = cache(_office)  # tasks share testbeds; the next reading sees what has changed
    found = [_public(item, office(testbed), references) for item, testbed, references in _subtasks(path)]
    if not found:
        raise InputError("holds no tasks", where=str(path), fix=_FIX)
    return found


def _subtasks(path: Path) -> Iterator[tuple[_Subtask, Path, Path]]:
    """The tasks with the folders of their testbeds and references."""
    for file in sorted(path.glob("*.jsonl")):
        for number, value in read_jsonl(file, what="task file"):
            item = validated(_Subtask, value, where=f"{file}:{number}: ")
            yield item, path / "testbeds" / item.task_id, path / "references" / item.task_id
    for file in sorted(path.glob("tasks/*/subtasks/*.json")):
        folder = file.parents[1]
        given = {**validated(dict[str, Any], read_json(file), where=f"{file}: "), "task_id": folder.name}
        item = validated(_Subtask, {**given, "subtask": file.stem}, where=f"{file}: ")
        yield item, folder / "testbed", folder / "reference"


def _office(testbed: Path) -> Office:
    """The rows of a testbed."""
    found = {f"{ROOT}/{file.relative_to(testbed).as_posix()}": file for file in testbed.rglob("*") if file.is_file()}
    return read_office(
        {path: file.read_bytes() for path, file in found.items()}, {path: str(file) for path, file in found.items()}
    )


def _public(item: _Subtask, office: Office, references: Path) -> Public:
    named = [item.username, *_NAME.findall(item.task)]
    for one in item.evaluation:  # upstream, an event or a mail makes a calendar or a mailbox for any name
        named.append(str(one.args.get("username", "")))
        named += _CALENDAR.findall(str(one.args.get("file", "")))
    users = {name.capitalize() for name in (*office.people, *named) if name}
    criteria: list[JsonObject] = []
    causes: list[str] = []
    for number, one in enumerate(item.evaluation):
        try:
            args = _args(one, references)
        except ValueError as error:
            causes.append(str(error))
            continue
        kind = one.function.removeprefix("evaluate_")
        check = {"program": f"{_PROGRAM}{kind}", **args}
        criteria.append({"id": f"{kind}_{number}", "kind": "goal", "check": check, "says": "As the benchmark asks."})
    desk = {"app": None, "user": item.username, "date": item.date, "weekday": item.weekday, "time": item.time}
    setup: list[JsonObject] = [{"op": "replace", "path": "/desk/main", "value": {**desk, "answer": None}}]
    tables = {
        "people": {name: {"address": address_of(name)} for name in sorted(users)},
        "files": office.files,
        "mails": office.mails,
        "events": office.events,
        "originals": office.originals,
    }
    for table, rows in tables.items():
        setup += [{"op": "add", "path": make_pointer(table, key), "value": row} for key, row in rows.items()]
    name = f"{item.task_id}/{item.subtask}"
    apps = int(item.task_id.partition("-")[0]) if item.task_id[:1].isdigit() else 0
    task = Task(
        id=f"officebench-{item.task_id}-{item.subtask}",
        split="train" if apps == 1 else "test",
        kind="published",
        instruction=item.task,
        setup=tuple(setup),
        criteria=tuple(criteria),
        options={"apps": apps},
    )
    pictures = any(row["kind"] == "image" for row in office.files.values())
    return Public(name, task, len(item.evaluation), causes, pictures, office.contents)


def _args(given: _Evaluation, references: Path) -> JsonObject:
    """The arguments of an evaluator here.

    Raises:
        ValueError: It cannot run; says why.
    """
    kind, args = given.function.removeprefix("evaluate_"), dict(given.args)
    if kind in ("contain", "not_contain"):
        kept: JsonObject = {name: args[name] for name in ("file", "username", "keywords") if name in args}
        if "file" not in kept and "username" not in kept:
            raise ValueError("no file in its arguments")
        return kept
    if kind == "diff_contain_text":
        return {"file": args["output_file"], "keywords": args["keywords"]}
    if kind == "exact_match":
        return {"file": args["result_file"], "expected": _expected(args, references)}
    if kind == "calendar_no_overlap":
        return {"username": args["username"]}
    if "file" not in args:
        raise ValueError("no file in its arguments")
    if kind == "excel_cell_comparator":
        cells = [
            {"row": int(one["row"]), "col": int(one["col"]), "allowed": [*allowed_values(one["comparator"])]}
            for one in args["matches"]
        ]
        return {"file": args["file"], "matches": cells}
    if kind == "excel_cell_value":
        cells = [
            {"row": int(one["row"]), "col": int(one["col"]), "value": str(one["value"])} for one in args["matches"]
        ]
        return {"file": args["file"], "matches": cells}
    if kind in ("file_exist", "file_not_exist"):
        return {"file": args["file"]}
    raise ValueError(f"there is no evaluator {given.function!r}")


def _expected(args: Mapping[str, Any], references: Path) -> JsonObject:
    file = references / Path(str(args["expected_file"])).name
    if not file.is_file():
        raise ValueError(f"no reference {file.name}")
    return file_row(file.read_bytes(), str(file))
