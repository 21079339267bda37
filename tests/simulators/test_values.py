"""The values that a simulator's model may write are those that the state's schema declares where its tool may write."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from benchmarks import reply_engines
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.common.schema_errors import json_schema_validator
from simia_gym.llm.structured import fits_strict
from simia_gym.llm.types import ANY_VALUE
from simia_gym.simulators.forms import KEY
from simia_gym.simulators.values import value_form
from simia_gym.state.schema import StateSchema
from simia_gym.types import JsonObject

from .test_forms import engine_of

TEXT = {"type": "string", "maxLength": 9}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}
ROW: JsonObject = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "state": {"enum": ["on", None]},
        "points": {"type": "array", "items": POINT},
        "free": {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
        "either": {"oneOf": [{"type": "boolean"}, POINT]},
        "loose": {},
        "odd": {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": False},
    },
}
SCHEMA = StateSchema.model_validate({"tables": {"things": {"row": ROW}, "bare": {}}})
LIST = {"type": "array", "items": POINT, "maxItems": 1000}


@pytest.mark.parametrize(
    ("writes", "form"),
    [
        (["things/*/name"], TEXT),
        (["things/*/state"], {"anyOf": [{"type": "string", "enum": ["on"]}, {"type": "null"}]}),
        (["things/*/points"], {"anyOf": [LIST, POINT, {"type": "integer"}]}),
        (["things/*/points/*"], {"anyOf": [POINT, {"type": "integer"}]}),
        (["things/*/free/*"], {"type": "number"}),
        (["things/*/points/*/x", "things/*/free/*"], {"type": "number"}),
        (["things/*/name", "things/*/either"], {"anyOf": [TEXT, {"type": "boolean"}, POINT, {"type": "integer"}]}),
        (["things/*/free"], ANY_VALUE),  # its keys are free
        (["things/*/odd"], ANY_VALUE),  # a key may be missing
        (["things/*/loose"], ANY_VALUE),
        (["things/*/other"], ANY_VALUE),
        (["things/*/name", "things/*/loose"], ANY_VALUE),
        (["things"], ANY_VALUE),
        (["bare/*/name"], ANY_VALUE),
        (["none"], ANY_VALUE),
    ],
)
def test_the_forms_of_values(writes: list[str], form: JsonObject) -> None:
    assert value_form(writes, SCHEMA, 9) == form


@cache
def suite_of(domain: str) -> Suite:
    return load_suite(EnvConfig(env=f"simia/{domain}-v0", split="train"))


def sent(domain: str, tool: str) -> Any:
    """The schema that a server is asked to hold the model to."""
    return reply_engines.sent(suite_of(domain), tool)


@cache
def written(domain: str) -> list[tuple[str, JsonObject]]:
    """What the world answers to the expert's calls that change something, as a simulator would write it."""
    return list(reply_engines.replies(suite_of(domain), 12))


@pytest.mark.parametrize("domain", ["retail", "airline", "officebench"])
def test_what_the_world_writes_has_the_form(domain: str) -> None:
    tools = {tool for tool, _ in written(domain)}
    valid = {tool: json_schema_validator(sent(domain, tool)).is_valid for tool in tools}
    assert [said for tool, said in written(domain) if not valid[tool]({KEY: said})] == []


@pytest.mark.parametrize("domain", ["retail", "airline"])
@pytest.mark.parametrize("engine", reply_engines.ENGINES)
def test_engines_let_a_model_write_it(engine: str, domain: str) -> None:
    make = engine_of(engine)
    accepts = {tool: make(json.dumps(sent(domain, tool))) for tool, _ in written(domain)}
    texts = [(tool, json.dumps({KEY: said}, ensure_ascii=False)) for tool, said in written(domain)]
    assert [text for tool, text in texts if not accepts[tool](text)] == []


@pytest.mark.parametrize(
    ("tool", "path", "value"),
    [
        ("cancel_pending_order", "/users/u/payment_methods/g/balance", {"amount": 3}),
        ("modify_pending_order_address", "/orders/%23W1/address", {"city": "Boise"}),
        ("return_delivered_order_items", "/orders/%23W1/return_items", [17]),
    ],
)
def test_a_value_of_another_form_cannot_be_written(tool: str, path: str, value: Any) -> None:
    schema = sent("retail", tool)
    op = {"op": "replace", "path": path, "value": value}
    assert not json_schema_validator(schema).is_valid({KEY: {"outcome": "ok", "error_code": None, "ops": [op]}})
    assert fits_strict(schema)
