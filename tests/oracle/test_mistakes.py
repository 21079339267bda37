"""Departures from the truth: what each kind is, and that each is of the kind that it says."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from simia_gym.domain.tools import ToolSpec
from simia_gym.oracle import OracleOptions
from simia_gym.oracle.mistakes import make_mistakes
from simia_gym.oracle.simulator import LedgerAnswer
from simia_gym.state import State, pointer_parts
from simia_gym.types import JsonObject

ROW = {"id": "a", "size": 3, "price": 1.5, "sold": False, "name": "lamp", "note": None, "tags": ["x"]}
WRITER = ToolSpec("sell", "", {"type": "object"}, "write", writes=("things/*/sold", "things/*/size"))
READER = ToolSpec("look", "", {"type": "object"}, "read")
OPS: list[JsonObject] = [
    {"op": "replace", "path": "/things/a/sold", "value": True},
    {"op": "replace", "path": "/things/a/size", "value": 2},
]


def truth(spec: ToolSpec = WRITER, *, error: bool = False, ops: Any = None, repair: bool = False) -> LedgerAnswer:
    given = ([] if error or spec is READER else OPS) if ops is None else ops
    outcome, code = ("error", "no") if error else ("ok", None)
    reply = {"outcome": outcome, "error_code": code, "reveals": [], "ops": given, "observation": "done"}
    return LedgerAnswer(reply, spec, {"things": {"a": ROW}}, repair)


def certain(kind: str, **more: Any) -> OracleOptions:
    return OracleOptions(**{f"{kind}_rate": 1.0, **more})


@pytest.mark.parametrize("seed", range(4))
def test_a_missed_write_leaves_one_operation_out(seed: int) -> None:
    reply, made = make_mistakes(truth(), certain("missed_write"), Random(seed))
    assert made == ["missed_write"]
    assert len(reply["ops"]) == 1
    assert reply["ops"][0] in OPS
    assert OPS[0]["value"] is True


@pytest.mark.parametrize("seed", range(20))
def test_a_wrong_value_keeps_its_type_and_place(seed: int) -> None:
    row = {"op": "add", "path": "/things/b", "value": ROW}
    reply, made = make_mistakes(truth(ops=[*OPS, row]), certain("wrong_value"), Random(seed))
    assert made == ["wrong_value"]
    assert [(op["op"], op["path"]) for op in reply["ops"]] == [(op["op"], op["path"]) for op in [*OPS, row]]
    changed = [(a["value"], b["value"]) for a, b in zip([*OPS, row], reply["ops"], strict=True) if a != b]
    assert len(changed) == 1
    before, after = changed[0]
    if isinstance(before, dict):
        differing = [key for key in before if before[key] != after[key]]
        assert len(differing) == 1
        before, after = before[differing[0]], after[differing[0]]
    assert type(before) is type(after)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("spec", [WRITER, READER], ids=["writer", "reader"])
@pytest.mark.parametrize("tables", [{"things": {"a": ROW}}, {}], ids=["rows", "nothing"])
def test_a_spurious_write_is_outside_the_write_set(seed: int, spec: ToolSpec, tables: Any) -> None:
    answer = truth(spec)
    answer = LedgerAnswer(answer.reply, answer.spec, tables, False)
    reply, made = make_mistakes(answer, certain("spurious_write"), Random(seed))
    assert made == ["spurious_write"]
    *others, extra = reply["ops"]
    assert others == answer.reply["ops"]
    assert not spec.may_write(pointer_parts(extra["path"]))
    State.from_tables(tables).apply([extra])  # it could be applied, were it allowed


def test_a_tool_that_may_write_everything_writes_what_nobody_may() -> None:
    spec = ToolSpec("all", "", {"type": "object"}, "write", writes=("*",))
    reply, _ = make_mistakes(truth(spec), certain("spurious_write"), Random(0))
    assert reply["ops"][-1]["path"].startswith("/_")


@pytest.mark.parametrize("error", [True, False])
def test_an_error_with_effects_is_both(error: bool) -> None:
    reply, made = make_mistakes(truth(error=error), certain("error_with_effects"), Random(1))
    assert made == ["error_with_effects"]
    assert reply["outcome"] == "error"
    assert reply["error_code"]
    assert reply["ops"]


def test_answers_that_allow_no_such_mistake_and_repairs_stay_true() -> None:
    for kind in ("wrong_value", "missed_write", "error_with_effects"):
        for answer in (truth(READER), truth(repair=True)):
            assert make_mistakes(answer, certain(kind), Random(0)) == (answer.reply, [])
        assert make_mistakes(truth(repair=True), certain(kind, stubborn=True), Random(0))[1] == [kind]
