"""A domain's self-tests: example tool calls with expected results, in ``selftests.jsonl``.

    {"setup": [...], "call": {"name": "borrow_book", "arguments": {...}},
     "expect": {"outcome": "ok", "contains": "B-101", "ops": [...]}}

``setup`` lists operations on the initial state. Every given key of ``expect`` must hold: ``outcome`` (``ok`` or
``error``), ``error_code``, ``observation`` (the whole text), ``contains`` (a part of the observation), ``ops`` (exactly
these operations).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simia_gym.common.files import read_jsonl
from simia_gym.common.json_encoding import encode
from simia_gym.domain.world import World
from simia_gym.errors import DomainError, Fault, InputError, PatchError
from simia_gym.state import State
from simia_gym.types import ToolCall

FILE = "selftests.jsonl"
_EXPECT = ("outcome", "error_code", "observation", "contains", "ops")
_FIX = "Mend the tool, or what the example expects."


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The result of one self-test.

    Attributes:
        tool: The tool's name; empty if the self-test could not be read or run.
        problem: The mismatch or error; ``None`` if the self-test passed.
    """

    tool: str
    problem: InputError | None


def run_selftests(folder: Path, world: World, base: State) -> Iterator[SelfTest]:
    """Run a domain's self-tests, each on its own copy of the initial state.

    Args:
        folder: The domain's folder; may lack ``selftests.jsonl``.
        world: The domain's world.
        base: The initial state.

    Yields:
        One result per self-test.
    """
    path = folder / FILE
    if not path.is_file():
        return
    try:
        lines = list(read_jsonl(path))
    except InputError as error:
        yield SelfTest("", error)
        return
    for number, item in lines:
        where = f"{path}:{number}"
        try:
            name, arguments, expect = _read(item, where)
            state = base.apply(item["setup"]) if item.get("setup") else base
            given = world.call(state, ToolCall(name, arguments))
        except InputError as error:
            yield SelfTest("", error)
            continue
        except (Fault, PatchError) as error:
            yield SelfTest("", DomainError(str(error), where=where, fix=_FIX))
            continue
        got = {
            "outcome": given.outcome,
            "error_code": given.error_code,
            "observation": given.observation,
            "ops": list(given.ops or ()),
        }
        wrong = _compare(expect, got)
        yield SelfTest(name, None if wrong is None else DomainError(f"{name}: {wrong}", where=where, fix=_FIX))


def _read(item: Any, where: str) -> tuple[str, dict[str, Any], Mapping[str, Any]]:
    if not isinstance(item, dict) or not isinstance(item.get("call"), dict) or not isinstance(item.get("expect"), dict):
        raise DomainError("a self-test needs 'call' and 'expect'", where=where, fix="Write both as objects.")
    unknown = sorted(set(item) - {"setup", "call", "expect"}) + sorted(set(item["expect"]) - set(_EXPECT))
    if unknown:
        raise DomainError(f"there is no key {unknown[0]!r}", where=where, fix=f"'expect' has: {', '.join(_EXPECT)}.")
    call = item["call"]
    if not isinstance(call.get("name"), str) or not isinstance(call.get("arguments", {}), dict):
        raise DomainError("'call' needs a name and arguments", where=where, fix='Write {"name": "x", "arguments": {}}.')
    return call["name"], call.get("arguments", {}), item["expect"]


def _compare(expect: Mapping[str, Any], got: Mapping[str, Any]) -> str | None:
    for name, want in expect.items():
        if name == "contains":
            if want not in got["observation"]:
                return f"observation lacks {want!r}: {got['observation'][:200]!r}"
        elif encode(want) != encode(got[name]):
            return f"{name} is {_short(got[name])}, expected {_short(want)}"
    return None


def _short(value: Any) -> str:
    text = encode(value).decode()
    return text if len(text) <= 200 else f"{text[:200]}..."
