"""The schemas of models' replies name the type of every value, because some engines write no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from simia_gym.llm.structured import form_of
from simia_gym.llm.types import ReplySchema
from simia_gym.rewards.judge.judge import REPLY as VERDICT
from simia_gym.simulators.checking import LEDGER_REPLY, REFERENCE_REPLY
from simia_gym.users.llm import REPLY as SAID

_TYPED = ("type", "anyOf", "enum", "const", "$ref")


def untyped(schema: Any, place: str) -> Iterator[str]:
    """The places of a schema's parts that name no type."""
    if not any(key in schema for key in _TYPED):
        yield place
    for key in ("properties", "$defs"):
        for name, inner in schema.get(key, {}).items():
            yield from untyped(inner, f"{place}/{name}")
    for key in ("anyOf", "prefixItems"):
        for number, inner in enumerate(schema.get(key, ())):
            yield from untyped(inner, f"{place}/{number}")
    if "items" in schema:
        yield from untyped(schema["items"], f"{place}/*")


@pytest.mark.parametrize("reply", [LEDGER_REPLY, REFERENCE_REPLY, SAID, VERDICT], ids=lambda reply: reply.name)
def test_every_part_of_a_reply_names_its_type(reply: ReplySchema) -> None:
    assert list(untyped(reply.schema, "")) == []


@pytest.mark.parametrize("value", ["x", 1, 0.375, True, None, {"a": {"b": [1, None]}}, [1, "a", {}]])
def test_an_operation_may_write_any_value(value: Any) -> None:
    op = {"op": "add", "path": "/a/b", "value": value}
    reply = {"outcome": "ok", "error_code": None, "reveals": [op], "ops": [op], "observation": "x"}
    assert form_of(LEDGER_REPLY).read(json.dumps(reply)) == reply
