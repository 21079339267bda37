"""Criteria: the items of a rubric, read from data and validated.

A rubric is a list of items::

    - id: refund_told
      kind: communication
      weight: 1
      required: true
      check: {program: says, all: ["12.50"]}
      says: The agent tells the customer how much comes back.

A task can add criteria of its own. An item with the id of a domain's item overrides the keys that it gives, and
``drop: true`` removes the domain's item.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from simia_gym.common.files import read_yaml
from simia_gym.errors import DomainError, InputError
from simia_gym.rewards.programs.builtin import PROGRAMS
from simia_gym.rewards.programs.program import Args, Program, find_program
from simia_gym.types import CriterionKind, JsonObject

KINDS: tuple[str, ...] = get_args(CriterionKind)
_KEYS = ("id", "kind", "weight", "required", "check", "says", "drop")


@dataclass(frozen=True, slots=True)
class ProgramCheck:
    """A check by code.

    Attributes:
        program: The program.
        args: The program's validated arguments.
        tools: The tools that the arguments name.
    """

    program: Program
    args: Args | Mapping[str, Any]
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """A check by a language model, the judge.

    Attributes:
        question: The question to the judge.
        options: Further keys of the check.
    """

    question: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Criterion:
    """One atomic criterion.

    Attributes:
        id: Unique within the rubric.
        kind: ``goal``, ``interaction``, ``communication``, ``forbidden`` or ``format``. The check of a ``forbidden``
            criterion states what must hold; if it does not hold, the reward is 0.
        weight: Weight in the weighted score; 0 for ``forbidden`` criteria, which gate the reward instead.
        required: Whether the criterion must be met for the strict pass.
        check: The check: a program or a question to the judge.
        says: One sentence for reports.
        where: File and item, for error messages.
    """

    id: str
    kind: CriterionKind
    weight: float
    required: bool
    check: ProgramCheck | ModelCheck
    says: str
    where: str

    @property
    def matters(self) -> bool:
        """Whether the verdict depends on the criterion."""
        return self.required or self.weight > 0 or self.kind == "forbidden"


class Rubric:
    """The criteria of a domain, and of each task: the domain's criteria merged with the task's own.

    Args:
        items: The domain's items, as data.
        folder: The domain's folder, for programs written as ``file.py:function``.
        where: The file, for error messages.

    Raises:
        DomainError: With every mistake in ``problems``; each names file, criterion, field and what to do.
    """

    def __init__(self, items: Sequence[Any], *, folder: Path | None = None, where: str = "rubric.yaml") -> None:
        self._folder = folder
        self._items: dict[str, JsonObject] = {}
        problems: list[InputError] = []
        for number, item in enumerate(items):
            try:
                key = _read_id(item, f"{where}: item {number + 1}")
                if key in self._items:
                    fix = "Give every criterion its own id."
                    raise DomainError(f"the id {key!r} occurs twice", where=f"{where}: item {number + 1}", fix=fix)
                if item.get("drop"):
                    fix = "Only a task's criterion can drop one of the domain's."
                    raise DomainError("drop: has no meaning here", where=f"{where}: criterion {key!r}", fix=fix)
                self._items[key] = dict(item)
            except DomainError as error:
                problems.append(error)
        self._where = where
        self._known: dict[str, tuple[JsonObject, Criterion]] = {}
        self.criteria = self._read_all(self._items.values(), dict.fromkeys(self._items, where), problems)
        self._known = {item.id: (self._items[item.id], item) for item in self.criteria}
        self._kept: dict[str, tuple[tuple[JsonObject, ...], tuple[Criterion, ...]]] = {}

    def for_task(self, task_id: str, items: tuple[JsonObject, ...]) -> tuple[Criterion, ...]:
        """The criteria of a task.

        Args:
            task_id: The task's id, for error messages and as the cache's key.
            items: The task's own items.

        Raises:
            DomainError: With every mistake in ``problems``.
        """
        if not items:
            return self.criteria
        kept = self._kept.get(task_id)
        # Compare the tuples by identity: two tasks with different criteria may share an id.
        if kept is not None and kept[0] is items:
            return kept[1]
        criteria = self._merge(task_id, items)
        if len(self._kept) >= 4096:
            self._kept.clear()
        self._kept[task_id] = (items, criteria)
        return criteria

    def _merge(self, task_id: str, items: tuple[JsonObject, ...]) -> tuple[Criterion, ...]:
        place = f"task {task_id!r}"
        merged, wheres = dict(self._items), dict.fromkeys(self._items, self._where)
        problems: list[InputError] = []
        seen: set[str] = set()
        for number, item in enumerate(items):
            try:
                key = _read_id(item, f"{place}: criteria[{number}]")
                if key in seen:
                    fix = "Give every criterion its own id."
                    raise DomainError(f"the id {key!r} occurs twice", where=place, fix=fix)
                seen.add(key)
                wheres[key] = place
                if not item.get("drop"):
                    merged[key] = {**merged.get(key, {}), **item}
                elif key in merged:
                    del merged[key]
                else:
                    known = f"The domain's criteria: {', '.join(self._items) or 'none'}."
                    raise DomainError("drop: the domain has no such criterion", where=f"{place}: {key!r}", fix=known)
            except DomainError as error:
                problems.append(error)
        return self._read_all(merged.values(), wheres, problems)

    def _read_all(
        self, items: Iterable[JsonObject], wheres: Mapping[str, str], problems: list[InputError]
    ) -> tuple[Criterion, ...]:
        criteria: list[Criterion] = []
        for item in items:
            same, known = self._known.get(item["id"], (None, None))
            if known is not None and same is item:  # an unchanged item of the domain, already read
                criteria.append(known)
                continue
            try:
                criteria.append(read_criterion(item, folder=self._folder, where=wheres[item["id"]]))
            except DomainError as error:
                problems.extend(error.problems or (error,))
        if problems:
            raise DomainError.of(problems)
        return tuple(criteria)


def load_items(path: Path | str) -> list[Any]:
    """Read the items of a ``rubric.yaml``.

    Raises:
        InputError: The file cannot be read, or does not hold a list.
    """
    value, _ = read_yaml(Path(path))
    if not isinstance(value, list):
        raise DomainError("is not a list of criteria", where=str(path), fix="Start items with '- id:'.")
    return value


def read_criterion(item: Mapping[str, Any], *, folder: Path | None = None, where: str = "rubric") -> Criterion:
    """Read one item.

    Args:
        item: The item, as data.
        folder: The domain's folder, for programs written as ``file.py:function``.
        where: File or task, for error messages.

    Raises:
        DomainError: The item is invalid; names the criterion and the field.
    """
    key = _read_id(item, where)
    place = f"{where}: criterion {key!r}"
    for name in item:
        if name not in _KEYS:
            fix = f"Remove it; the keys are {', '.join(_KEYS)}. A program's arguments stand below check."
            raise DomainError(f"a criterion has no key {name!r}", where=place, fix=fix)
    kind = item.get("kind")
    if kind not in KINDS:
        raise DomainError(f"kind: {kind!r} is no kind", where=place, fix=f"Use one of {', '.join(KINDS)}.")
    required = item.get("required", kind != "format")
    if not isinstance(required, bool):
        raise DomainError(f"required: {required!r} is not true or false", where=place, fix="Write true or false.")
    if kind == "forbidden" and not required:
        fix = "Remove `required`, or choose another kind."
        raise DomainError("required: a forbidden criterion always gates", where=place, fix=fix)
    says = item.get("says", "")
    if not isinstance(says, str):
        raise DomainError(f"says: {says!r} is not a text", where=place, fix="Write one sentence.")
    weight = _read_weight(item.get("weight"), kind, place)
    check = _read_check(item.get("check"), folder, place)
    return Criterion(key, kind, weight, required, check, says, place)


def _read_id(item: Any, where: str) -> str:
    if not isinstance(item, Mapping):
        raise DomainError(f"{item!r:.80} is not a criterion", where=where, fix="Write a mapping with id, kind, check.")
    key = item.get("id")
    if not isinstance(key, str) or not key:
        raise DomainError(f"id: {key!r} is not a name", where=where, fix="Give the criterion an id.")
    return key


def _read_weight(value: Any, kind: str, where: str) -> float:
    if value is None:
        return 0.0 if kind == "forbidden" else 1.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise DomainError(f"weight: {value!r} is not a number of at least 0", where=where, fix="Write a number.")
    if kind == "forbidden" and value:
        fix = "Remove the weight: it makes the whole reward 0 when it fires."
        raise DomainError("weight: a forbidden criterion has none", where=where, fix=fix)
    return float(value)


def _read_check(value: Any, folder: Path | None, where: str) -> ProgramCheck | ModelCheck:
    fix = "Write check: {program: NAME, ...arguments} or check: {llm: QUESTION}."
    if not isinstance(value, Mapping):
        raise DomainError(f"check: {value!r:.80} is not a check", where=where, fix=fix)
    if ("program" in value) == ("llm" in value):
        raise DomainError("check: give either program or llm", where=where, fix=fix)
    if "program" in value:
        program = find_program(PROGRAMS, value["program"], folder=folder, where=where)
        given = {str(key): item for key, item in value.items() if key != "program"}
        args = program.read_args(given, where)
        return ProgramCheck(program, args, args.tools_named() if isinstance(args, Args) else ())
    options = {key: item for key, item in value.items() if key != "llm"}
    question = value["llm"]
    if isinstance(question, Mapping):
        options.update((key, item) for key, item in question.items() if key != "question")
        question = question.get("question")
    if not isinstance(question, str) or not question.strip():
        raise DomainError(f"check.llm: {question!r} is not a question", where=where, fix="Write one sentence.")
    return ModelCheck(question, options)
