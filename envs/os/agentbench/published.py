"""Reads a file of AgentBench's OS tasks: one task a line (.jsonl), or a list of tasks or a single one (.json).

    {"description": "...", "create": {"init": SCRIPTS}, "start": SCRIPTS, "evaluation": {"match": MATCH}}
    {"description": "...", "create": {"init": SCRIPTS}, "evaluation": {"check": [null, SCRIPT], "example": SCRIPT}}

SCRIPT is a text for bash, or ``{"code": ..., "language": ...}``, or ``{"file": ..., "language": ...}``; SCRIPTS is one,
or a list. MATCH is a text, or ``{"answer": ...}`` or ``{"regex": ...}`` with ``strip``. A file is looked for beside the
task file, and where AgentBench's checkout has it; a check that is not there may be one of ours with the same name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, field_validator, model_validator

from simia_gym.common.files import Lines, dotted, read_json, read_jsonl, read_text
from simia_gym.common.validation import StrictModel, Where, validated
from simia_gym.envs.os.agentbench.causes import cause
from simia_gym.envs.os.agentbench.checks import CHECKS, own_name
from simia_gym.errors import InputError
from simia_gym.sandbox.sandbox import LONGEST_SCRIPT

_FIX = "Name a .json or .jsonl file of AgentBench's OS tasks."
_ROOM = 16_000  # bytes of a script's limit that are left for its arguments


class Script(StrictModel):
    """A script of a task.

    Attributes:
        language: ``bash``, ``python``, or ``own`` for a check of ours.
        code: Its text, or the name of our check.
    """

    language: Literal["bash", "python", "own"] = "bash"
    code: str


class Match(StrictModel):
    """The answer that is right.

    Attributes:
        answer: A text.
        regex: Or a regular expression, which is searched.
        strip: Whether white space around the given answer counts for nothing.
    """

    answer: str | None = None
    regex: str | None = None
    strip: bool = True

    @field_validator("regex")
    @classmethod
    def _compiles(cls, regex: str | None) -> str | None:
        try:
            re.compile(regex or "")
        except re.error as error:
            raise ValueError(f"is no regular expression ({error})") from error
        return regex

    @model_validator(mode="after")
    def _one(self) -> Match:
        if (self.answer is None) == (self.regex is None):
            raise ValueError("a match has either an answer or a regex")
        return self


class Evaluation(StrictModel):
    """How a task is judged.

    Attributes:
        match: The right answer; or
        check: scripts, each of which must end with 0; ``None`` stands for the example.
        example: The published solution.
    """

    match: Match | None = None
    check: tuple[Script | None, ...] = ()
    example: Script | None = None

    @property
    def about_answer(self) -> bool:
        """Whether the answer decides: it must match, or be what the example gives. Else the files do."""
        return self.match is not None or None in self.check


@dataclass(frozen=True)
class Published:
    """A task of AgentBench.

    Attributes:
        name: File and number, such as ``dev-00003``.
        where: File and line.
        description: What the agent is asked.
        init: Scripts that make the machine.
        start: Scripts that the agent's own shell has run.
        evaluation: How it is judged.
        cause: Why it cannot be played here; nothing if it can.
        files: The files that say so.
    """

    name: str
    where: str
    description: str
    init: tuple[Script, ...]
    start: tuple[Script, ...]
    evaluation: Evaluation
    cause: str = ""
    files: frozenset[Path] = field(default=frozenset(), repr=False)


def _as_object(value: Any) -> Any:
    return {"code": value} if isinstance(value, str) else value


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _as_answer(value: Any) -> Any:
    return {"answer": value} if isinstance(value, str) else value


class _Written(StrictModel):
    language: Literal["bash", "python"] = "bash"
    code: str | None = None
    file: str | None = None

    @model_validator(mode="after")
    def _one(self) -> _Written:
        if (self.code is None) == (self.file is None):
            raise ValueError("a script has either code or a file")
        return self


_Scripts = Annotated[tuple[Annotated[_Written, BeforeValidator(_as_object)], ...], BeforeValidator(_as_list)]
_Checks = Annotated[
    tuple[Annotated[_Written | None, BeforeValidator(_as_object)], ...], BeforeValidator(_as_list), Field(min_length=1)
]


class _Create(BaseModel):
    init: _Scripts = ()


class _Evaluation(StrictModel):
    match: Annotated[Match | None, BeforeValidator(_as_answer)] = None
    check: _Checks | None = None
    example: Annotated[_Written | None, BeforeValidator(_as_object)] = None

    @model_validator(mode="after")
    def _one(self) -> _Evaluation:
        if (self.match is None) == (self.check is None):
            raise ValueError("an evaluation has either a match or a check")
        return self


def _without_lists(value: Any) -> Any:
    """Some of AgentBench's tasks have a check in the place of ``create``, which is then without effect."""
    return {} if isinstance(value, list) else value


class _Item(BaseModel):
    description: str = Field(min_length=1)
    create: Annotated[_Create, BeforeValidator(_without_lists)] = _Create()
    start: _Scripts = ()
    evaluation: _Evaluation
    example: Annotated[_Written | None, BeforeValidator(_as_object)] = None

    @model_validator(mode="after")
    def _has_example(self) -> _Item:
        if None in (self.evaluation.check or ()) and self.evaluation.example is None:
            raise ValueError("null in check stands for the example, and there is none")
        if any(one.language != "bash" for one in self.start):
            raise ValueError("start runs in the agent's shell, and must be bash")
        return self


def read(path: Path) -> list[Published]:
    """All tasks of a file.

    Raises:
        InputError: The file or a task of it is broken, or a script is missing; names file and line.
    """
    if path.suffix == ".jsonl":
        found = [_published(path, *one) for one in _lines(path)]
    elif path.suffix == ".json":
        found = [_published(path, *one) for one in _list(path)]
    else:
        raise InputError("is no file of tasks", where=str(path), fix=_FIX)
    if not found:
        raise InputError("holds no tasks", where=str(path), fix=_FIX)
    return found


def _lines(path: Path) -> Iterator[tuple[int, Any, Where]]:
    for number, (line, value) in enumerate(read_jsonl(path, what="task file")):

        def where(parts: Sequence[str | int], line: int = line) -> str:
            return ": ".join(filter(None, (f"{path}:{line}", dotted(parts))))

        yield number, value, where


def _list(path: Path) -> Iterator[tuple[int, Any, Where]]:
    value, lines = read_json(path, what="task file"), Lines(path)
    listed = isinstance(value, list)
    for number, item in enumerate(value if listed else [value]):

        def where(parts: Sequence[str | int], first: tuple[int, ...] = (number,) if listed else ()) -> str:
            return lines.where([*first, *parts])

        yield number, item, where


def _published(path: Path, number: int, value: Any, where: Where) -> Published:
    item = validated(_Item, value, where=where)
    used: set[Path] = set()

    def script(given: _Written, parts: Sequence[str | int], check: bool = False) -> Script:
        made = _script(path, given, lambda: where(parts), check, used)
        size = len(made.code.encode()) + made.code.count("'") * 4 * (made.language == "python")
        if size > LONGEST_SCRIPT - _ROOM or "\0" in made.code:
            what = f"a script has at most {LONGEST_SCRIPT - _ROOM:,} bytes, and no NUL"
            raise InputError(what, where=where(parts), fix="Shorten it.")
        return made

    def several(given: Sequence[_Written], *parts: str) -> tuple[Script, ...]:
        return tuple(script(one, [*parts, at]) for at, one in enumerate(given))

    written = item.evaluation
    example, place = written.example, ["evaluation", "example"]
    if example is None and item.example is not None:  # as some of AgentBench's files have it
        example, place = item.example, ["example"]
    evaluation = Evaluation(
        match=written.match,
        check=tuple(
            None if one is None else script(one, ["evaluation", "check", at], check=True)
            for at, one in enumerate(written.check or ())
        ),
        example=None if example is None else script(example, place),
    )
    init, start = several(item.create.init, "create", "init"), several(item.start, "start")
    scripts = (*init, *start, evaluation.example, *evaluation.check)
    texts = [one.code for one in scripts if one is not None and one.language == "bash"]
    name = f"{path.stem}-{number:05d}"
    files = frozenset({path, *used})
    return Published(name, where(()), item.description, init, start, evaluation, cause(texts), files)


def _script(path: Path, given: _Written, where: Callable[[], str], check: bool, used: set[Path]) -> Script:
    if given.code is not None:
        return Script(language=given.language, code=given.code)
    name = given.file or ""
    if name.startswith("/") or ".." in PurePosixPath(name).parts:
        fix = "Name a file in the folder of the tasks."
        raise InputError(f"the script {name!r} lies outside of the folder of the tasks", where=where(), fix=fix)
    folder = path.parent
    places = (folder, folder / "scripts", folder.parent / "scripts" / path.stem)
    for place in (*places, folder.parent.parent / "scripts" / folder.name):
        if name and (file := place / name).is_file():
            used.add(file)
            return Script(language=given.language, code=read_text(file, what="script"))
    own = own_name(name) if check else None
    if own is None:
        fix = f"Put it beside the tasks, in {folder}. The checks that need no file are: {', '.join(CHECKS)}."
        raise InputError(f"there is no script {name!r}", where=where(), fix=fix)
    return Script(language="own", code=own)
