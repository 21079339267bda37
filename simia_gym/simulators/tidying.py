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
from simia_gym.state import State, pointer_parts
from simia_gym.state.pointer import resolve
from simia_gym.types import Op

_NO_CODE = frozenset({"", "null", "none", "nil", "n_a", "ok", "success", "no_error"})
_ROOT = re.compile(r"^(?:#|\$)?/?(?:(?:state/)?tables/|state/|#/|\$/)?")


def tidied(data: Mapping[str, Any], spec: ToolSpec, state: State) -> tuple[Mapping[str, Any], Collection[str]]:
    """The answer with its error code and the paths of its operations put right, and the kinds of changes."""
    kinds = set[str]()
    changed = dict(data)
    code = data.get("error_code")
    if isinstance(code, str):
        if data["outcome"] == "ok" and fold(code) in _NO_CODE:
            changed["error_code"] = None
            kinds.add("null")
        elif data["outcome"] == "error" and fold(code) not in (code, *_NO_CODE):
            changed["error_code"] = fold(code)
            kinds.add("case")
    if data.get("ops"):
        changed["ops"] = [_placed(op, spec, state, kinds) for op in data["ops"]]
    return changed, kinds


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
