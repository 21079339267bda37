"""Loads a data directory of tau2-bench: its database, policy and tasks take the place of a domain's own.

The directory holds ``db.json``; optionally ``policy.md``, and tasks in ``tasks_train.jsonl``, ``tasks_test.jsonl``,
``tasks.jsonl`` or ``tasks.json`` (a list; with ``split_tasks.json`` beside it, which names the ids of each split).
Tasks of files without a split in their name count as ``train``. The benchmark's own ``tools.json`` is not read.

Scores rest on ``tau2:db*communicate``: the database as the gold actions leave it, and every string of
``communicate_info`` told to the user. The benchmark's assertions in natural language are kept in the task's options and
do not enter into it.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator

from simia_gym.common.files import read_json, read_jsonl, read_text
from simia_gym.common.validation import validated
from simia_gym.domain.data import DomainData, files_hash
from simia_gym.domain.goal import goal_of
from simia_gym.domain.world import World
from simia_gym.envs._tau2.rows import Tables, fitted
from simia_gym.errors import InputError
from simia_gym.state import State
from simia_gym.types import JsonObject, Split, Task, ToolCall

OPTIONS: Mapping[str, Any] = {"compat": "tau2"}
REWARD = "simia_gym.rewards.outcome:OutcomeReward"
_TASK_FILES: Mapping[str, Split] = {
    "tasks_train.jsonl": "train",
    "tasks_test.jsonl": "test",
    "tasks.jsonl": "train",
    "tasks.json": "train",
}


def _refuse_state(value: Any) -> None:
    if value is not None:
        raise ValueError("this loader applies no initial_state of a task's own: leave the task out")


class _Instructions(BaseModel):
    domain: str | None = None
    reason_for_call: str | None = None
    known_info: str | None = None
    unknown_info: str | None = None
    task_instructions: str | None = None


class _Scenario(BaseModel):
    instructions: Annotated[
        _Instructions, BeforeValidator(lambda value: {"reason_for_call": value} if isinstance(value, str) else value)
    ]
    persona: Any = None


class _Action(BaseModel):
    name: str
    arguments: JsonObject


class _Criteria(BaseModel):
    actions: list[_Action] | None = None
    communicate_info: list[str] | None = None
    nl_assertions: Any = None
    reward_basis: Any = None


class _Tau2Task(BaseModel):
    """A task as the benchmark writes it; a scenario in one piece is all reason."""

    id: Annotated[str, BeforeValidator(str)]
    user_scenario: Annotated[
        _Scenario, BeforeValidator(lambda value: {"instructions": value} if isinstance(value, str) else value)
    ]
    initial_state: Annotated[Any, AfterValidator(_refuse_state)] = None
    evaluation_criteria: _Criteria | None = None


def load(
    path: Path,
    domain: str,
    world: type[World],
    arranged: Callable[[Tables, str], Tables] = lambda tables, where: tables,
) -> DomainData:
    """Load a data directory.

    Args:
        path: The directory.
        domain: The domain that the tasks are to be for; a task that says otherwise is refused.
        world: The class of the world that plays the tasks' gold actions; its module lies in the domain's folder.
        arranged: Makes its tables of those of ``db.json``; gets the file's name for its errors.

    Returns:
        Tables, tasks with their goals, policy, and the settings that fit them.

    Raises:
        InputError: Something is missing, unreadable or does not fit; names file, place and fix.
    """
    if not path.is_dir():
        what = "is not a directory" if path.exists() else "there is no such directory"
        raise InputError(what, where=str(path), fix="Name the directory that holds db.json.")
    database = path / "db.json"
    given = validated(dict[str, dict[str, JsonObject]], read_json(database, what="database"), where=f"{database}: ")
    schema = Path(inspect.getfile(world)).with_name("state.schema.json")
    state = State.from_tables(fitted(arranged(given, str(database)), schema, str(database)))
    policy = path / "policy.md"
    others = (path / name for name in (policy.name, "split_tasks.json", *_TASK_FILES))
    return DomainData(
        tables={name: dict(state.rows(name)) for name in state.tables},
        tasks=_read_tasks(path, domain, state, world(OPTIONS)),
        policy=read_text(policy, what="policy text") if policy.is_file() else None,
        options=dict(OPTIONS),
        user="brief",
        reward=REWARD,
        hash=files_hash([database, *filter(Path.is_file, others)]),
    )


def _read_tasks(path: Path, domain: str, state: State, world: World) -> dict[Split, tuple[Task, ...]]:
    splits = _read_splits(path / "split_tasks.json")
    tasks: dict[Split, list[Task]] = {"train": [], "test": []}
    seen: dict[str, str] = {}
    for name, split in _TASK_FILES.items():
        file = path / name
        if not file.is_file():
            continue
        for where, value in _records(file):
            task = _read_task(validated(_Tau2Task, value, where=f"{where}: "), where, splits, split, domain)
            if task.id in seen:
                raise InputError(f"task id {task.id!r} occurs at {seen[task.id]} too", where=where, fix="Remove one.")
            seen[task.id] = where
            unknown = [action["name"] for action in task.gold if action["name"] not in world.tools]
            if unknown:
                fix = "Name the data directory of this domain."
                raise InputError(f"gold action {unknown[0]!r} is no tool of {domain}", where=where, fix=fix)
            goal = goal_of(state, world.replay(state, task.gold))  # skips calls that fail, as the benchmark does
            writes = [action["name"] for action in task.gold if world.tools[action["name"]].effect == "write"]
            options = {**task.options, "done": writes}
            tasks[task.split].append(dataclasses.replace(task, goal=goal, options=options))
    _check_fit([*tasks["train"], *tasks["test"]], state, world, path)
    return {split: tuple(items) for split, items in tasks.items()}


def _records(file: Path) -> list[tuple[str, Any]]:
    """The tasks of a file, each with its place."""
    if file.suffix == ".jsonl":
        return [(f"{file}:{number}", value) for number, value in read_jsonl(file, what="task file")]
    values = validated(list[Any], read_json(file, what="task file"), where=str(file))
    return [(f"{file}[{number}]", value) for number, value in enumerate(values)]


def _read_splits(file: Path) -> dict[str, Split]:
    if not file.is_file():
        return {}
    value = validated(dict[str, Any], read_json(file, what="split file"), where=f"{file}: ")
    splits: tuple[Split, ...] = ("train", "test")
    ids = {split: validated(list[Any], value.get(split) or [], where=f"{file}: {split}") for split in splits}
    return {str(task_id): split for split in splits for task_id in ids[split]}


def _read_task(read: _Tau2Task, where: str, splits: Mapping[str, Split], split: Split, domain: str) -> Task:
    """The task, in the split that the file of splits names, or else in that of its own file."""
    criteria, scenario = read.evaluation_criteria or _Criteria(), read.user_scenario
    instructions = scenario.instructions
    if instructions.domain not in (None, domain):
        what = f"is a task of the domain {instructions.domain!r}, not {domain!r}"
        raise InputError(what, where=where, fix="Name the data directory of this domain.")
    brief: JsonObject = {
        "type": "brief",
        "reason": instructions.reason_for_call or "",
        "known": instructions.known_info or "",
        "unknown": instructions.unknown_info or "",
        "instructions": instructions.task_instructions or "",
        **({"persona": scenario.persona} if scenario.persona else {}),
    }
    return Task(
        id=read.id,
        split=splits.get(read.id, split),
        kind="tau2",
        user=brief,
        gold=tuple(action.model_dump() for action in criteria.actions or ()),
        options={
            "communicate_info": criteria.communicate_info or [],
            "nl_assertions": criteria.nl_assertions or [],
            "reward_basis": criteria.reward_basis or [],
        },
    )


def _check_fit(tasks: Sequence[Task], state: State, world: World, path: Path) -> None:
    """Refuse a database that is not the tasks': gold actions may fail, but not nearly all of them."""
    with_gold = [task for task in tasks if task.gold]
    barren = [task for task in with_gold if not any(_succeeds(action, state, world) for action in task.gold)]
    if 2 * len(barren) > len(with_gold):
        what = f"none of the gold actions of {len(barren)} of {len(with_gold)} tasks can be executed"
        raise InputError(what, where=str(path / "db.json"), fix="Use the database that belongs to the tasks.")


def _succeeds(action: Mapping[str, Any], state: State, world: World) -> bool:
    return world.call(state, ToolCall(action["name"], dict(action["arguments"]))).outcome == "ok"
