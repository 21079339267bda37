"""What a plausible oracle varies: all that a tool's description leaves open, and nothing that it tells."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest

from simia_gym.domain.tools import ToolSpec
from simia_gym.oracle.plausible import vary
from simia_gym.oracle.simulator import LedgerAnswer
from simia_gym.state import State
from simia_gym.types import JsonObject, ToolCall

TABLES: Mapping[str, Any] = {
    "orders": {"o1": {"status": "open", "log": [], "sizes": [3, 1, 2]}},
    "shelves": {"s1": {"free": 4}},
}
CALL = ToolCall("sell", {"order": "o1"})
OPS: Sequence[JsonObject] = (
    {"op": "replace", "path": "/orders/o1/status", "value": "sold"},
    {"op": "add", "path": "/orders/o1/log/-", "value": {"kind": "a", "amount": 7}},
    {"op": "add", "path": "/orders/o1/log/-", "value": {"kind": "b", "amount": 8}},
    {"op": "replace", "path": "/orders/o1/sizes", "value": [3, 1, 2]},
    {"op": "replace", "path": "/shelves/s1/free", "value": 5.0},
)


def varied(description: str, **changes: Any) -> list[JsonObject]:
    """Forty draws."""
    spec = ToolSpec("sell", description, {"type": "object"}, "write", writes=("*",), **changes.pop("spec", {}))
    reply = {"outcome": "ok", "error_code": None, "reveals": [], "ops": OPS, "observation": "Sold o1", **changes}
    repair = reply.pop("repair", False)
    return [vary(LedgerAnswer(reply, spec, TABLES, repair, CALL), Random(seed)) for seed in range(40)]


def states(replies: Sequence[JsonObject]) -> list[Any]:
    """The state after each."""
    after = [State.from_tables(TABLES).apply(reply["ops"]) for reply in replies]
    return [{table: dict(state.rows(table)) for table in TABLES} for state in after]


def kinds(state: Any) -> list[str]:
    return [entry["kind"] for entry in state["orders"]["o1"]["log"]]


def test_what_is_told_is_kept_and_operations_come_in_any_order() -> None:
    replies = varied("The log gets both entries with their amount, in this order. Free grows.")
    assert all(state == states(replies)[0] for state in states(replies))
    assert states(replies)[0]["shelves"]["s1"]["free"] == 5
    assert len({json.dumps([op["path"] for op in reply["ops"]]) for reply in replies}) > 3
    spelt = {type(op["value"]) for reply in replies for op in reply["ops"] if op["path"] == "/shelves/s1/free"}
    assert spelt == {int, float}


def test_what_is_not_told_varies() -> None:
    found = states(varied("Sell."))
    assert {tuple(kinds(state)) for state in found} == {("a", "b"), ("b", "a")}
    assert {state["shelves"]["s1"]["free"] for state in found} == {4, 5}
    assert {entry["amount"] for state in found for entry in state["orders"]["o1"]["log"]} == {7, 8, -7, -8}
    assert {tuple(state["orders"]["o1"]["sizes"]) for state in found} == {(3, 1, 2)}  # it is shown in this order


def test_a_list_that_nobody_was_shown_comes_in_any_order() -> None:
    ops = [{"op": "replace", "path": "/orders/o1/sizes", "value": ["x", "y", "z"]}]
    assert len({tuple(state["orders"]["o1"]["sizes"]) for state in states(varied("Sell.", ops=ops))}) > 2
    told = states(varied("The sizes are sorted.", ops=ops))
    assert {tuple(state["orders"]["o1"]["sizes"]) for state in told} == {("x", "y", "z")}


def test_a_repair_is_the_worlds_own() -> None:
    assert all(reply["ops"] == OPS for reply in varied("Sell.", repair=True))


@pytest.mark.parametrize(("description", "many"), [("Sell.", True), ("Sell, and say Sold o1.", False)])
def test_confirmations_are_worded_anew_unless_the_words_are_told(description: str, many: bool) -> None:
    words = {reply["observation"] for reply in varied(description)}
    assert (len(words) > 1) is many
    assert all("Sold o1" in each for each in words)


def test_errors_have_other_words_and_codes() -> None:
    error = {"outcome": "error", "error_code": "sold_out", "ops": [], "observation": "Error: none left"}
    replies = varied("Sell.", **error)
    assert len({reply["observation"] for reply in replies}) > 2
    assert len({reply["error_code"] for reply in replies}) > 2
    declared = varied("Sell.", spec={"errors": ({"code": "sold_out", "text": "none left"},)}, **error)
    assert {reply["error_code"] for reply in declared} == {"sold_out"}
    missing = varied("Sell.", **{**error, "error_code": "not_found"})
    assert {reply["error_code"] for reply in missing} == {"not_found"}


def test_json_keeps_its_meaning_in_another_style() -> None:
    text = '{"b": [1, {"c": "\\u00e9", "d": 2}], "a": null}'
    words = {reply["observation"] for reply in varied("Sell.", spec={"answers": "json"}, observation=text)}
    assert len(words) > 2
    assert all(json.loads(each) == json.loads(text) for each in words)
