"""Schemas without references, for readers that drop them."""

from __future__ import annotations

import json

import jsonschema
import pytest

from simia_gym.actions.signatures import self_contained

from ..serving.native import WORLDS, made, native

LINKED = {
    "type": "object",
    "properties": {"$ref": {"type": "string"}, "head": {"$ref": "#/$defs/Node", "description": "The first one."}},
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"value": {"$ref": "#/$defs/Value"}, "next": {"$ref": "#/$defs/Node"}},
        },
        "Value": {"type": "integer"},
    },
}


@pytest.mark.parametrize("env", WORLDS)
def test_schemas_of_tools_lose_their_references_and_nothing_else(env: str) -> None:
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in made(env).suite.domain.tools}
    for parameters in tools.values():
        whole = self_contained(parameters)
        assert not any(word in json.dumps(whole) for word in ('"$ref"', '"$defs"'))
        if "$ref" not in json.dumps(parameters):
            assert whole == parameters
    for name, arguments in native(env, 0).calls:
        if name in tools:
            jsonschema.validate(arguments, self_contained(tools[name]))


def test_a_reference_is_replaced_where_it_stands_and_a_name_is_none() -> None:
    node = {"value": {"type": "integer"}, "next": {}}
    head = {"type": "object", "properties": node, "description": "The first one."}
    assert self_contained(LINKED) == {"type": "object", "properties": {"$ref": {"type": "string"}, "head": head}}
