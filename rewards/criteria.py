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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationInfo, model_validator
from pydantic.json_schema import models_json_schema

from simia_gym.common.files import Lines, dotted, read_yaml
from simia_gym.common.validation import Where, validated
from simia_gym.errors import DomainError, InputError
from simia_gym.rewards.programs.builtin import PROGRAMS
from simia_gym.rewards.programs.program import NAMES_TABLES, NAMES_TOOLS, Args, Program, find_program, named
from simia_gym.types import CriterionKind, JsonObject

_MOST_MERGED = 4096
_VALIDATION: Final = "validation"


@dataclass(frozen=True)
class ProgramCheck:
    """A check by code: the program and its validated arguments."""

    program: Program
    args: Args | Mapping[str, Any]

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The tools that the arguments name."""
        return tuple(named(self.args, NAMES_TOOLS))

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The tables that the arguments name, and the pointers, which begin with a table."""
        return tuple(named(self.args, NAMES_TABLES))


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """A check by a language model, the judge: the question, and further keys of the check."""

    question: str
    options: Mapping[str, Any]


def _read_check(value: Any, info: ValidationInfo) -> ProgramCheck | ModelCheck:
    """Read a check; the validation's context holds the domain's folder and the place of the criterion."""
    folder, where = info.context["folder"], info.context["where"]  # type: ignore[index]
    if not isinstance(value, Mapping) or ("program" in value) == ("llm" in value):
        raise ValueError("write either {program: NAME, ...arguments} or {llm: QUESTION}")
    if "program" in value:
        program = find_program(PROGRAMS, value["program"], folder=folder, where=where(("check", "program")))
        given = {str(key): item for key, item in value.items() if key != "program"}
        return ProgramCheck(program, program.read_args(given, where))
    options = {key: item for key, item in value.items() if key != "llm"}
    question = value["llm"]
    if isinstance(question, Mapping):
        options.update((key, item) for key, item in question.items() if key != "question")
        question = question.get("question")
    if not isinstance(question, str) or not question.strip():
        raise ValueError("`llm` must be a question, in one sentence")
    return ModelCheck(question, options)


class Criterion(BaseModel):
    """One atomic criterion.

    The check of a ``forbidden`` criterion states what must hold; if it does not hold, the reward is 0. One of the kind
    ``conduct`` is only reported, unless a judge decides it: then it is like a forbidden one.

    Attributes:
        id: Unique within the rubric.
        kind: ``goal``, ``interaction``, ``communication``, ``forbidden``, ``conduct`` or ``format``.
        weight: Weight in the weighted score; 0 for ``forbidden`` and ``conduct`` criteria.
        required: Whether the criterion must be met for the strict pass.
        check: The check: a program or a question to the judge.
        says: One sentence for reports.
        drop: Whether a task's item removes the domain's; such an item is never read.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    id: str = Field(min_length=1)
    kind: CriterionKind
    weight: float = Field(ge=0)
    required: bool
    check: Annotated[ProgramCheck | ModelCheck, PlainValidator(_read_check)]
    says: str = ""
    drop: bool = False

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, item: Mapping[str, Any]) -> dict[str, Any]:
        kind = item.get("kind")
        if item.get("weight", 0) is None:
            item = {name: value for name, value in item.items() if name != "weight"}
        weight = 0.0 if kind in ("forbidden", "conduct") else 1.0
        return {"weight": weight, "required": kind not in ("conduct", "format"), **item}

    @model_validator(mode="after")
    def _gates(self) -> Criterion:
        if self.kind == "forbidden" and (self.weight or not self.required):
            raise ValueError(
                "a forbidden criterion sets the whole reward to 0 if it fails; remove its weight and required"
            )
        if self.kind == "conduct" and (self.weight or self.required):
            raise ValueError(
                "a conduct criterion is outside the reward if no judge decides it; remove weight and required"
            )
        return self

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

    Attributes:
        criteria: The domain's criteria.
        waits: Whether one of their programs is a coroutine function.

    Raises:
        DomainError: With every mistake in ``problems``; each names file, criterion, field and what to do.
    """

    def __init__(self, items: Sequence[Any], *, folder: Path | None = None, where: str = "rubric.yaml") -> None:
        self._folder, self._lines = folder, Lines(Path(where))
        self._items: dict[str, JsonObject] = {}
        self.criteria = self._read(items, self._lines.line, ())
        self.waits = _waits(self.criteria)
        self._items = {item["id"]: dict(item) for item in items}
        self._merged: dict[str, tuple[tuple[JsonObject, ...], tuple[Criterion, ...]]] = {}

    def place(self, key: str) -> str:
        """The place of one of the domain's criteria."""
        return self._lines.line([list(self._items).index(key)]) if key in self._items else str(self._lines.path)

    def for_task(self, task_id: str, items: tuple[JsonObject, ...]) -> tuple[Criterion, ...]:
        """The criteria of a task with these items of its own; cached by the task's id.

        Raises:
            DomainError: With every mistake in ``problems``.
        """
        if not items:
            return self.criteria
        known = self._merged.get(task_id)
        # Compare the tuples by identity: two tasks with different criteria may share an id.
        if known is None or known[0] is not items:
            if len(self._merged) >= _MOST_MERGED:
                self._merged.clear()
            where = f"task {task_id!r}"
            read = self._read(items, lambda path: where, self.criteria)
            if _waits(read) and not self.waits:
                fix = (
                    "Give rubric.yaml a criterion with an async program too: it must be known before an episode begins."
                )
                raise DomainError("only this task has an async program", where=where, fix=fix)
            known = self._merged[task_id] = (items, read)
        return known[1]

    def _read(self, items: Sequence[Any], where: Where, known: Iterable[Criterion]) -> tuple[Criterion, ...]:
        """Read items, each of which adds a criterion to the known ones, or overrides or drops one of them."""
        criteria = {item.id: item for item in known}
        seen: set[str] = set()
        problems: list[InputError] = []
        for number, item in enumerate(items):
            try:
                key = _read_id(item, f"{where((number,))}: item {number + 1}")
                place = f"{where((number,))}: criterion {key!r}"
                if key in seen:
                    raise DomainError("the id occurs twice", where=place, fix="Give every criterion its own id.")
                seen.add(key)
                if not item.get("drop"):
                    whole = {**self._items.get(key, {}), **item}
                    criteria[key] = read_criterion(whole, self._folder, partial(_below, where, number))
                elif criteria.pop(key, None) is None:
                    fix = f"The domain's criteria: {', '.join(self._items) or 'none'}."
                    raise DomainError("drop: the domain has no such criterion", where=place, fix=fix)
            except DomainError as error:
                problems.extend(error.problems or (error,))
        if problems:
            raise DomainError.of(problems)
        return tuple(criteria.values())


def _waits(criteria: Iterable[Criterion]) -> bool:
    """Whether a program of these criteria is a coroutine function."""
    return any(isinstance(item.check, ProgramCheck) and item.check.program.waits for item in criteria)


def load_items(path: Path | str) -> list[Any]:
    """Read the items of a ``rubric.yaml``.

    Raises:
        InputError: The file cannot be read, or does not hold a list.
    """
    value = read_yaml(Path(path))
    if not isinstance(value, list):
        raise DomainError("is not a list of criteria", where=str(path), fix="Start items with '- id:'.")
    return value


def _below(where: Where, number: int, path: Sequence[str | int]) -> str:
    return where((number, *path))


def _rubric(path: Sequence[str | int]) -> str:
    return "rubric"


def read_criterion(item: Mapping[str, Any], folder: Path | None = None, where: Where = _rubric) -> Criterion:
    """Read one item.

    Args:
        item: The item.
        folder: The domain's folder, for programs written as ``file.py:function``.
        where: The place of a part of the item.

    Raises:
        DomainError: The item is invalid; names the criterion and the field.
    """
    key = _read_id(item, where(()))

    def place(path: Sequence[str | int]) -> str:
        return ": ".join(filter(None, (where(path), f"criterion {key!r}", dotted(path))))

    return validated(Criterion, item, where=place, context={"folder": folder, "where": place})


def _read_id(item: Any, where: str) -> str:
    if not isinstance(item, Mapping):
        raise DomainError(f"{item!r:.80} is not a criterion", where=where, fix="Write a mapping with id, kind, check.")
    key = item.get("id")
    if not isinstance(key, str) or not key:
        raise DomainError(f"id: {key!r} is not a name", where=where, fix="Give the criterion an id.")
    return key


def json_schema() -> JsonObject:
    """The JSON Schema of a ``rubric.yaml``: criteria, and the arguments of this package's programs."""
    args = {program.args: name for name, program in PROGRAMS.items() if program.args is not None}
    models: tuple[type[BaseModel], ...] = (Criterion, *args)
    references, schema = models_json_schema([(model, _VALIDATION) for model in models])
    definitions: JsonObject = schema["$defs"]
    checks: list[JsonObject] = [
        {"required": ["llm"]},
        {"properties": {"program": {"not": {"enum": [*PROGRAMS]}}}, "required": ["program"]},
    ]
    for model, name in args.items():
        check = references[model, _VALIDATION]
        own = definitions[check["$ref"].rpartition("/")[2]]
        own["properties"] = {"program": {"const": name}, **own.get("properties", {})}
        own["required"] = ["program", *own.get("required", ())]
        checks.append(check)
    criterion = definitions["Criterion"]
    criterion["properties"]["check"] = {"type": "object", "anyOf": checks}
    criterion["required"] = ["id", "kind", "check"]
    return {"$defs": definitions, "type": "array", "items": references[Criterion, _VALIDATION]}
