"""The forms that a simulator's model is held to allow what code accepts, and hardly anything that code rejects."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from benchmarks import reply_engines
from simia_gym.common.schema_errors import json_schema_validator
from simia_gym.domain.domain import Domain
from simia_gym.domain.limits import Limits
from simia_gym.domain.tools import DeclaredError
from simia_gym.llm.structured import fits_strict, form_of
from simia_gym.llm.types import ReplySchema
from simia_gym.rewards.judge.judge import REPLY as VERDICT
from simia_gym.simulators.forms import KEY, ledger_form, reference_form
from simia_gym.state.schema import StateSchema
from simia_gym.types import JsonObject
from simia_gym.users.llm import OPENING, REPLY

from .desk import LAKE, MEMBER, put

LIMITS = Limits(operations=3, observation=400)
OPEN = StateSchema.model_validate({"tables": {"books": {"open": True}}})
NEVER = DeclaredError("never", "It cannot be.")
object.__setattr__(NEVER, "condition", lambda state, arguments: False)  # as loading does
CODES = (DeclaredError("gone", "It is gone."), NEVER)
ORDER = ("outcome", "error_code", "reveals", "ops", "observation")
OK: JsonObject = {"outcome": "ok", "error_code": None, "observation": "done"}
ERROR: JsonObject = {"outcome": "error", "error_code": "not_found", "observation": "Error: no"}
REMOVE = {"op": "remove", "path": "/books/b1"}

CASES: list[tuple[str, dict[str, Any], JsonObject, bool]] = [
    # tool, its marks, the reply, whether the form allows it
    ("rename", {}, {**OK, "ops": [LAKE]}, True),
    ("rename", {}, {**OK, "ops": []}, True),
    ("rename", {"always_changes": True}, {**OK, "ops": []}, False),
    ("rename", {"always_changes": True}, {**OK, "ops": [LAKE]}, True),
    ("rename", {}, {**OK, "ops": [LAKE, REMOVE, put("/books/b1/tags", {"a": [1, None, "x"]})]}, True),
    ("rename", {}, {**OK, "ops": [LAKE] * 4}, False),
    ("rename", {}, {**OK, "ops": [put("/" + "x" * 1000, 1)]}, False),
    ("rename", {}, {**OK, "ops": [{"op": "replace", "path": "/books/b1/title"}]}, False),
    ("rename", {}, {**OK, "ops": [], "error_code": "not_found"}, False),
    ("rename", {}, ERROR, True),
    ("rename", {}, {**ERROR, "ops": [LAKE]}, False),
    ("rename", {}, {**ERROR, "error_code": None}, False),
    ("rename", {}, {**ERROR, "error_code": "x" * 61}, False),
    ("rename", {"errors": CODES}, {**ERROR, "error_code": "gone"}, True),
    ("rename", {"errors": CODES}, {**ERROR, "error_code": "too_large"}, True),
    ("rename", {"errors": CODES}, ERROR, False),
    ("rename", {"errors": CODES}, {**ERROR, "error_code": "never"}, False),
    ("get_book", {}, OK, True),
    ("get_book", {}, {**OK, "ops": [LAKE]}, False),
    ("get_book", {}, {**OK, "observation": "x" * 400}, True),
    ("get_book", {}, {**OK, "observation": "x" * 401}, False),
    ("show_book", {}, OK, False),  # code writes what it returns
    ("show_book", {}, {"outcome": "ok", "error_code": None}, True),
    ("show_book", {}, ERROR, True),
    ("poke", {}, {**OK, "ops": [LAKE]}, False),  # it may write nothing
]


def form(domain: Domain, tool: str, marks: dict[str, Any], *, opens: bool = False, cut: bool = False) -> ReplySchema:
    schema = OPEN if opens else None
    return ledger_form(replace(domain.specs[tool], **marks), LIMITS, schema=schema, cut=cut)


def sent(reply: ReplySchema) -> JsonObject:
    assert reply.sent is not None
    return reply.sent.schema


@pytest.mark.parametrize(("tool", "marks", "reply", "allowed"), CASES)
def test_what_the_form_of_a_tool_allows(
    domain: Domain, tool: str, marks: dict[str, Any], reply: JsonObject, allowed: bool
) -> None:
    schema = sent(form(domain, tool, marks))
    assert json_schema_validator(schema).is_valid({KEY: reply}) is allowed
    assert not json_schema_validator(schema).is_valid(reply)


def test_rows_are_revealed_where_tables_are_open_and_cut_texts_have_a_code(domain: Domain) -> None:
    revealing = {KEY: {**OK, "reveals": [MEMBER]}}
    assert json_schema_validator(sent(form(domain, "find_member", {}, opens=True))).is_valid(revealing)
    assert not json_schema_validator(sent(form(domain, "find_member", {}))).is_valid(revealing)
    cut = {KEY: {**ERROR, "error_code": "cut_off"}}
    marks = {"errors": CODES}
    assert json_schema_validator(sent(form(domain, "rename", marks, cut=True))).is_valid(cut)
    assert not json_schema_validator(sent(form(domain, "rename", marks))).is_valid(cut)


def test_a_reply_in_the_form_is_read_with_what_it_leaves_out(domain: Domain) -> None:
    made = form_of(form(domain, "rename", {}))
    assert made.read(json.dumps({KEY: ERROR})) == {**ERROR, "ops": [], "reveals": []}
    whole = {**OK, "ops": [LAKE], "reveals": []}
    assert made.read(json.dumps({KEY: {**OK, "ops": [LAKE]}})) == whole
    assert made.read(json.dumps(whole)) == whole  # as a model writes it that is held to no form
    shown = form_of(form(domain, "show_book", {}))
    assert shown.read(json.dumps({KEY: {"outcome": "ok", "error_code": None}})) == {
        "outcome": "ok",
        "error_code": None,
        "ops": [],
        "reveals": [],
    }
    plain = form_of(reference_form(domain.specs["rename"], LIMITS))
    assert plain.read(json.dumps({KEY: ERROR})) == {**ERROR, "done": False}


def test_the_same_form_is_one_object(domain: Domain) -> None:
    assert form(domain, "rename", {}) is form(domain, "rename", {})
    assert form(domain, "rename", {}) is not form(domain, "get_book", {})


@pytest.mark.parametrize("reply", [REPLY, OPENING, VERDICT], ids=lambda reply: reply.name)
def test_servers_that_enforce_strictly_take_the_other_forms(reply: ReplySchema) -> None:
    assert fits_strict(sent(reply) if reply.sent else reply.schema)


def endless(schema: Any, place: str) -> Iterator[str]:
    """The places of texts and lists without an end."""
    kinds = schema.get("type")
    if kinds == "string" and not {"enum", "maxLength"} & schema.keys():
        yield place
    if kinds == "array" and "maxItems" not in schema:
        yield place
    if kinds == "object" and not schema.get("properties"):
        yield f"{place}: an object without keys"
    for name, inner in schema.get("properties", {}).items():
        yield from endless(inner, f"{place}/{name}")
    for number, inner in enumerate(schema.get("anyOf", ())):
        yield from endless(inner, f"{place}/{number}")
    if "items" in schema:
        yield from endless(schema["items"], f"{place}/*")


def test_every_text_and_every_list_has_an_end(domain: Domain) -> None:
    made = [ledger_form(spec, LIMITS, schema=OPEN, cut=True) for spec in domain.specs.values()]
    made += [reference_form(spec, LIMITS) for spec in domain.specs.values()]
    schemas = [*map(sent, made), sent(VERDICT), REPLY.schema, OPENING.schema]
    assert [place for schema in schemas for place in endless(schema, "")] == []


def engine_of(name: str) -> Callable[[str], reply_engines.Accepts]:
    """An engine that holds a model to a form, where it is installed."""
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    return reply_engines.ENGINES[name]


@pytest.mark.parametrize("engine", reply_engines.ENGINES)
@pytest.mark.parametrize(("tool", "marks", "reply", "allowed"), CASES)
def test_engines_enforce_the_forms(
    domain: Domain, engine: str, tool: str, marks: dict[str, Any], reply: JsonObject, allowed: bool
) -> None:
    """Where an engine that holds a model to a form is installed."""
    accepts = engine_of(engine)(json.dumps(sent(form(domain, tool, marks))))
    ordered = {name: reply[name] for name in ORDER if name in reply}
    assert accepts(json.dumps({KEY: ordered})) is allowed
