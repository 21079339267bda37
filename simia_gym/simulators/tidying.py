"""Puts right in an answer to a tool call what breaks a rule of form and has one sound reading in the present state.

What comes out is checked like any other answer, so nothing here can change what a tool may not change.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from simia_gym.domain.tools import ToolSpec
from simia_gym.errors import PatchError
from simia_gym.llm.tolerant.shape import fold
from simia_gym.state import State, pointer_parts, thaw
from simia_gym.state.pointer import resolve
from simia_gym.state.schema import StateSchema
from simia_gym.types import Op

_NO_CODE = frozenset({"", "null", "none", "nil", "n_a", "ok", "success", "no_error"})
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,17})\.\d{1,18}")
_ROOT = re.compile(r"^(?:#|\$)?/?(?:(?:state/)?tables/|state/|#/|\$/)?")


def tidied(
    data: Mapping[str, Any], spec: ToolSpec, state: State, schema: StateSchema | None
) -> tuple[Mapping[str, Any], Collection[str]]:
    """The answer with its error code, and paths and values of its operations put right, and the kinds of changes."""
    changed, kinds = tidied_code(data)
    if data.get("ops"):
        kinds = set(kinds)
        ops = [_placed(op, spec, state, kinds) for op in data["ops"]]
        changed = {**changed, "ops": ops if schema is None else [_typed(op, state, schema, kinds) for op in ops]}
    return changed, kinds


def tidied_code(data: Mapping[str, Any]) -> tuple[Mapping[str, Any], Collection[str]]:
    """The answer with its error code put right, and the kinds of changes."""
    code = data.get("error_code")
    if isinstance(code, str):
        if data["outcome"] == "ok" and fold(code) in _NO_CODE:
            return {**data, "error_code": None}, {"null"}
        if data["outcome"] == "error" and fold(code) not in (code, *_NO_CODE):
            return {**data, "error_code": fold(code)}, {"case"}
    return data, set()


def _placed(op: Op, spec: ToolSpec, state: State, kinds: set[str]) -> Op:
    """The operation at the one place that its path can mean; as it is if that is not certain."""
    path: str = op["path"]
    if _stands(path, op, spec, state):
        return op
    places = {other for other in _readings(path) if _stands(other, op, spec, state)}
    if len(places) != 1:
        return op
    kinds.add("path")
    return {**op, "path": places.pop()}


def _readings(path: str) -> Iterator[str]:
    bare = path.strip()
    for text in (bare, bare.replace(".", "/") if "/" not in bare else bare):
        yield f"/{text.lstrip('/')}"
        yield f"/{_ROOT.sub('', text)}"


def _stands(path: str, op: Op, spec: ToolSpec, state: State) -> bool:
    """Whether a path names a place that the tool may write and that is there, or that the operation adds to a table."""
    try:
        parts = pointer_parts(path)
        if len(parts) < 2 or parts[0].startswith("_") or (op["op"] != "test" and not spec.may_write(parts)):
            return False
        row = state.get(parts[0], parts[1])
        if row is None or len(parts) == 2:
            return len(parts) == 2 and state.table(parts[0]) is not None and (op["op"] == "add") is (row is None)
        resolve(row, parts[2:-1] if op["op"] == "add" else parts[2:])
    except PatchError:
        return False
    return True


def _typed(op: Op, state: State, schema: StateSchema, kinds: set[str]) -> Op:
    """The operation with numbers and truths for their texts, or the other way round, where its row wants them."""
    rules = schema.tables.get(op["path"][1:].partition("/")[0])
    if op["op"] not in ("add", "replace") or "value" not in op or rules is None or rules.row is None:
        return op
    try:
        parts = pointer_parts(op["path"])
        row = state.get(parts[0], parts[1]) if len(parts) > 2 else None
        holder: Any = {"value": thaw(op["value"])} if row is None else thaw(row)
        inner = ("value",) if row is None else parts[2:]
        outer = resolve(holder, inner[:-1])
    except PatchError:
        return op
    if not isinstance(outer, dict):
        return op  # lists are numbered anew by what is added
    outer[inner[-1]] = thaw(op["value"])
    whole = holder["value"] if row is None else holder
    wrong = {tuple(error.instance_path) for error in rules.row.iter_errors(whole)}
    mine = () if row is None else tuple(inner)
    for place in sorted(wrong, key=str):
        if place[: len(mine)] == mine and len(place) >= max(1, len(mine)):
            _retype(whole, place, rules.row, kinds)
    return {**op, "value": outer[inner[-1]]}


def _retype(row: Any, place: tuple[str | int, ...], validator: Any, kinds: set[str]) -> None:
    """Give the value at a place of a row the one other type that makes it valid; if there is none, leave it."""
    *before, last = place
    outer = row
    for step in before:
        outer = outer[step]
    value, good = outer[last], list[Any]()
    for other in _other_types(value):
        outer[last] = other
        if all(tuple(error.instance_path) != place for error in validator.iter_errors(row)):
            good.append(other)
    outer[last] = good[0] if len(good) == 1 else value
    if len(good) == 1:
        kinds.add("text")


def _other_types(value: Any) -> Iterator[Any]:
    if isinstance(value, str):
        text = value.strip()
        if _INTEGER.fullmatch(text):
            yield int(text)
        elif _DECIMAL.fullmatch(text):
            yield float(text)
        elif text.lower() in ("true", "false"):
            yield text.lower() == "true"
    elif isinstance(value, int) and not isinstance(value, bool):
        yield str(value)
