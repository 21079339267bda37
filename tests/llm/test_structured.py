"""From a model's text to a value in its form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simia_gym.errors import Fault
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.structured import find_json, fits_strict, read_reply
from simia_gym.llm.transport.failures import Failure
from simia_gym.llm.types import ChatRequest

from ..actions import JSON
from .server import FORM

OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"n": 1}', {"n": 1}),
        (' \n{"n": 1}\n', {"n": 1}),
        ("[1, 2]", [1, 2]),
        ('```json\n{"n": 1}\n```', {"n": 1}),
        ('```{"n": 1}```', {"n": 1}),
        ("```json\r\n[1]\r\n```", [1]),
        ('<think>{"n": 0}</think>{"n": 1}', {"n": 1}),
        ('<think>or </think>{"n": 0} no, wait </think>{"n": 1}', {"n": 1}),
        ('Here: {"n": 1}. Done.', {"n": 1}),
        ('{"n": 1}\nThat is all.', {"n": 1}),
        ('Here:\n```json\n{"n": {"m": 1}}\n```\nDone.', {"n": {"m": 1}}),
        ('As {placeholders} go: {"n": 1}', {"n": 1}),
        ('x</think>{"n": "</think>"}', {"n": "</think>"}),
        ('{"n": "<think>"}', {"n": "<think>"}),
    ],
)
def test_values_are_found(text: str, value: Any) -> None:
    assert find_json(text) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("<think>x", "nothing but thinking"),
        ("<think>x</think> ", "nothing but thinking"),
        ("Hello", "no JSON"),
        ('{"n": 1} {"n": 2}', "several"),
        ('First {"n": 1}, then {"n": 2}.', "several"),
        ('{"n": 1, "n": 2}', "twice"),
        ('{"n": NaN}', "NaN"),
        ('{"n": 1e999}', "too large"),
        ('{"n": {"m": 1}', "not JSON"),
        ('{"a": "x" {"n": 1}', "not JSON"),
        ('Here: {"a": {"n": 1}', "no JSON"),
        ('[{"n": 1}', "not JSON"),
        ("{" * 100_000, "not JSON"),
    ],
)
def test_values_that_are_none(text: str, words: str) -> None:
    with pytest.raises(Failure, match=words) as caught:
        find_json(text)
    assert caught.value.kind == "bad_reply"
    assert caught.value.again


@given(OBJECTS, st.text().filter(lambda text: "think>" not in text), st.booleans())
@example({"a": "</think>"}, "", True)
@example({"a": '</think>{"a": 1}'}, "x", False)
@example({"a": "```"}, "```", True)
def test_thinking_never_reaches_the_value(value: dict[str, Any], thought: str, opened: bool) -> None:
    said = json.dumps(value, ensure_ascii=False)
    assert find_json(said) == value
    assert find_json(f"{'<think>' if opened else ''}{thought}x</think>\n{said}") == value
    assert find_json(f"<think>x</think>\n```json\n{said}\n```") == value


@given(st.text())
@example("<think>" * 3 + '{"a": 1}')
@example('{"a": 1}</think>')
def test_any_text_is_a_value_or_a_failure(text: str) -> None:
    try:
        find_json(text)
    except Failure as failure:
        assert failure.kind == "bad_reply"  # noqa: PT017


def test_a_recorded_reply_is_read_as_it_was() -> None:
    asked = ChatRequest("judge", Prompt(), FORM)
    read = read_reply('<think>x</think>{"n": 1}', asked, model="m")
    assert (read.text, read.data, read.model) == ('{"n": 1}', {"n": 1}, "m")
    assert read_reply("<think>x</think>Hi", asked._replace(reply=None))[:3] == ("Hi", "<think>x</think>Hi", None)
    with pytest.raises(Fault, match="n: '1' is not of type") as caught:
        read_reply('{"n": "1"}', asked)
    assert (caught.value.kind, caught.value.role) == ("bad_reply", "judge")


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (FORM.schema, True),
        ({**FORM.schema, "additionalProperties": True}, False),
        ({**FORM.schema, "required": []}, False),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False}, False),
        ({"type": ["object", "null"], "properties": {}, "required": [], "additionalProperties": False}, True),
        ({"type": "array", "items": FORM.schema}, True),
        ({"type": "array"}, False),
        ({"anyOf": [FORM.schema, {"type": "null"}]}, True),
        ({"oneOf": [FORM.schema]}, False),
        ({"enum": ["a"]}, True),
        ({}, False),
    ],
)
def test_strictness_is_asked_for_where_it_can_be_had(schema: dict[str, Any], strict: bool) -> None:
    assert fits_strict(schema) is strict
