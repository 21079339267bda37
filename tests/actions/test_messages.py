"""Assistant messages as actions: they mean what their canonical text means, whatever is in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simia_gym.actions import get_grammar
from simia_gym.actions.calls import MAX_CHARACTERS, call_message, read_action
from simia_gym.common.json_encoding import as_text
from simia_gym.errors import ActionError
from simia_gym.types import Calls, Message, Say, ToolCall

from . import FUZZ, WEBSHOP

ORDER = ToolCall("get_order", {"id": "#W1"})
HERMES = '<tool_call>\n{"name": "get_order", "arguments": {"id": "#W1"}}\n</tool_call>'


AGAIN = ToolCall("get_order", {}, "c1")
CLICK = ToolCall("click", {"value": "x"})
CALLED = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": "{}"}}
WRITTEN = {"content": "<think>x</think> Now.", "tool_calls": [CALLED]}


def said(content: Any, *calls: Any) -> Message:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def function(arguments: Any, **more: Any) -> Message:
    return {"type": "function", "function": {"name": "get_order", "arguments": arguments}, **more}


@pytest.mark.parametrize(
    ("name", "message", "text", "action"),
    [
        ("tools", said(None, function({"id": "#W1"})), HERMES, Calls((ORDER,))),
        ("tools", said(None, function('{"id":"#W1"}')), HERMES, Calls((ORDER,))),
        ("tools", said("<think>x</think> Now.", function({}, id="c1")), None, Calls((AGAIN,), "Now.")),
        ("tools", said("Hello."), "Hello.", Say("Hello.")),
        ("tools", said(HERMES), HERMES, Calls((ORDER,))),
        ("tools", said([{"type": "thinking"}, {"type": "text", "text": "Hello."}]), "Hello.", Say("Hello.")),
        (WEBSHOP, call_message(ToolCall("click", {"value": "x"}, "c1")), "click[x]", Calls((CLICK,))),
    ],
)
def test_a_message_is_recorded_as_a_text(name: str, message: Message, text: str | None, action: Any) -> None:
    assert read_action(get_grammar(name), message) == (text or json.dumps({"role": "assistant", **WRITTEN}), action)


def test_the_message_stays_its_writers_own() -> None:
    arguments = {"items": ["a"]}
    _, action = read_action(get_grammar("tools"), call_message(ToolCall("pay", arguments)))
    arguments["items"].append("b")
    assert action == Calls((ToolCall("pay", {"items": ["a"]}),))


_own: list[Any] = []
_own.append(_own)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"role": "user", "content": "Hi"}, "malformed_call"),
        ({"role": "assistant", "content": 7}, "malformed_call"),
        ({"role": "assistant", "content": None}, "empty_action"),
        ({}, "empty_action"),
        (said(None, 7), "malformed_call"),
        ({"role": "assistant", "tool_calls": "x"}, "malformed_call"),
        (said(None, {"function": {"arguments": {}}}), "missing_name"),
        (said(None, function("[1]")), "bad_arguments"),
        (said(None, function("{")), "bad_arguments"),
        (said(None, function({"a": float("nan")})), "malformed_call"),
        (said(None, function({"a": object()})), "malformed_call"),
        (said(None, function({("a",): 1})), "malformed_call"),
        (said(None, function(_own)), "malformed_call"),
        (said(None, function({"a": 10**5000})), "malformed_call"),
        (said(None, function({"a": "x" * MAX_CHARACTERS})), "too_long"),
    ],
)
def test_malformed_messages_are_typed_errors(message: Message, code: str) -> None:
    text, error = read_action(get_grammar("tools"), message)
    assert isinstance(error, ActionError)
    assert error.code == code
    assert len(text) <= MAX_CHARACTERS + 1
    assert isinstance(read_action(get_grammar(WEBSHOP), message)[1], ActionError)


_texts = st.one_of(
    st.text(),
    st.sampled_from(["", "find", "{}", '{"a": "\\ud800"}', "</think>x", "<tool_call>", "[TOOL_CALLS]", "```"]),
)
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=8,
)
_functions = st.fixed_dictionaries({"name": _texts, "arguments": st.dictionaries(_texts, _values, max_size=3) | _texts})
_calls = st.fixed_dictionaries({"function": _functions | _values}, optional={"id": _texts | st.none()})
_messages = st.fixed_dictionaries(
    {}, optional={"role": st.just("assistant") | _values, "content": _texts | _values, "tool_calls": st.lists(_calls)}
)


@pytest.mark.parametrize("text", ["half \ud800", "\udfff" * MAX_CHARACTERS])
@pytest.mark.parametrize("name", ["tools", WEBSHOP])
def test_an_action_that_is_no_text_is_an_error(text: str, name: str) -> None:
    for action in (
        text,
        {"role": "assistant", "content": None, "tool_calls": [function({"text": text})]},
        {"content": text},
    ):
        recorded, error = read_action(get_grammar(name), action)
        assert isinstance(error, ActionError)
        assert error.code in ("not_text", "bad_arguments")
        again, same = read_action(get_grammar(name), recorded)
        assert (again, str(same)) == (recorded, str(error))


@given(message=_messages, name=st.sampled_from(["tools", WEBSHOP]))
@FUZZ
@pytest.mark.slow
def test_the_canonical_text_is_read_to_the_same_action(message: Message, name: str) -> None:
    grammar = get_grammar(name)
    text, action = read_action(grammar, message)
    again, same = read_action(grammar, as_text(text))  # as the record holds it
    if isinstance(action, ActionError):
        assert isinstance(same, ActionError)
        assert (same.code, same.message) == (action.code, action.message)
    elif isinstance(action, Calls) and isinstance(same, Calls):
        assert again == text
        assert same.calls == action.calls
    else:
        assert same == action
