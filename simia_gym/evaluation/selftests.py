"""A domain's self-tests: example tool calls with expected results, in ``selftests.jsonl``.

    {"setup": [...], "call": {"name": "borrow_book", "arguments": {...}},
     "expect": {"outcome": "ok", "contains": "B-101", "ops": [...]}}

``setup`` lists operations on the initial state. Every given key of ``expect`` must hold: ``outcome`` (``ok`` or
``error``), ``error_code``, ``observation`` (the whole text), ``contains`` (a part of the observation), ``ops`` (exactly
these operations).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from simia_gym.common.files import read_jsonl
from simia_gym.common.formatting import shown
from simia_gym.common.json_encoding import encode
from simia_gym.common.validation import StrictModel, validated
from simia_gym.domain.world import World
from simia_gym.errors import DomainError, Fault, InputError, PatchError
from simia_gym.state import State
from simia_gym.types import JsonObject, ToolCall

FILE = "selftests.jsonl"
_FIX = "Mend the tool, or what the example expects."


class _Call(StrictModel):
    name: str
    arguments: JsonObject = Field(default_factory=dict)


class _Expected(StrictModel):
    outcome: Any = None
    error_code: Any = None
    observation: Any = None
    contains: str = ""
    ops: Any = None


class Example(StrictModel):
    """One line of the file."""

    setup: list[JsonObject] | None = None
    call: _Call
    expect: _Expected


class SelfTest(NamedTuple):
    """The result of one self-test.

    Attributes:
        tool: The tool's name; empty if the self-test could not be read or run.
        problem: The mismatch or error; ``None`` if the self-test passed.
    """

    tool: str
    problem: InputError | None


def run_selftests(folder: Path, world: World, base: State) -> Iterator[SelfTest]:
    """Run a domain's self-tests, each on its own copy of the initial state; the folder may lack the file.

    Yields:
        One result per self-test.
    """
    path = folder / FILE
    if not path.exists():
        return
    try:
        lines = list(read_jsonl(path))
    except InputError as error:
        yield SelfTest("", error)
        return
    for number, item in lines:
        where = f"{path}:{number}"
        try:
            example = validated(Example, item, where=f"{where}: ")
        except DomainError as error:
            yield from (SelfTest("", problem) for problem in error.problems or (error,))
            continue
        tool, wrong = example.call.name, None
        try:
            wrong = _run(example, world, base)
        except (Fault, PatchError, InputError) as error:
            wrong = str(error)
        yield SelfTest(tool, None if wrong is None else DomainError(wrong, where=where, fix=_FIX))


def _run(example: Example, world: World, base: State) -> str | None:
    """Execute a self-test; return its first mismatch."""
    call = example.call
    given = world.call(base.apply(example.setup or ()), ToolCall(call.name, call.arguments))
    for name, want in example.expect.model_dump(exclude_unset=True).items():
        if name == "contains":
            if want not in given.observation:
                return f"{call.name}: observation lacks {want!r}: {given.observation[:200]!r}"
            continue
        got = getattr(given, name) or () if name == "ops" else getattr(given, name)
        if encode(want) != encode(got):
            return f"{call.name}: {name} is {shown(got, 200)}, expected {shown(want, 200)}"
    return None
