"""Actions in the shapes that servers and SDKs give: read where there is one reading, else refused by name."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from simia_gym.actions.assistant import as_action, further_fields
from simia_gym.actions.calls import read_action
from simia_gym.actions.tools_grammar import get_grammar
from simia_gym.errors import ActionError, Fault, InputError
from simia_gym.types import Calls, Say, ToolCall

GRAMMAR = get_grammar("tools")
GIVEN = {"id": "#W1"}
TEXT = json.dumps(GIVEN)


def action_of(given: Any) -> Any:
    text, action = read_action(GRAMMAR, as_action(given))
    again, same = read_action(GRAMMAR, text)
    assert again == text
    assert str(same) == str(action) if isinstance(action, ActionError) else same == action
    return action


def asking(*calls: Any, content: Any = None) -> Any:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def called(**function: Any) -> Any:
    return {"id": "c1", "type": "function", "function": {"name": "f", **function}}


NONE: list[Any] = [None, "", " \n", "null", " null ", {}, "{}"]


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        *((called(arguments=each), {}) for each in NONE),
        (called(), {}),
        (called(index=0, cache_control={"type": "x"}, arguments=None), {}),
        ({**called(), "extra_content": {"google": {"thought_signature": "x"}}, "index": 0}, {}),
        *((called(**{name: GIVEN}), GIVEN) for name in ("arguments", "parameters", "args", "input")),
        *((called(**{name: TEXT}), GIVEN) for name in ("arguments", "parameters", "args", "input")),
        (called(arguments=None, parameters=GIVEN), GIVEN),
        (called(arguments="", input=GIVEN, kwargs={"more": 1}), GIVEN),
        (called(arguments=TEXT, parsed_arguments=GIVEN, signature="x"), GIVEN),
        ({**called(), "arguments": TEXT}, GIVEN),
        ({"id": "c1", "name": "f", "args": GIVEN, "type": "tool_call"}, GIVEN),
        ({"id": "c1", "name": "f", "input": GIVEN, "type": "tool_use"}, GIVEN),
        ({"id": "fc_9", "call_id": "c1", "name": "f", "arguments": TEXT, "type": "function_call"}, GIVEN),
        (SimpleNamespace(model_dump=lambda exclude_none: called(arguments=TEXT)), GIVEN),
    ],
)
def test_a_call_with_one_reading_is_read(call: Any, arguments: Any) -> None:
    assert action_of(asking(call)) == Calls((ToolCall("f", arguments, "c1"),))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (called(args=GIVEN, input=GIVEN), 'both "args" and "input"'),
        (called(arguments=TEXT, parameters=GIVEN), 'both "arguments" and "parameters"'),
        ({**called(arguments=TEXT), "input": {}}, 'both "arguments" and "input"'),
        (called(kwargs=GIVEN), "'kwargs' in the place"),
        (called(kwargs=TEXT), "'kwargs' in the place"),
        (called(arguments=None, kwargs=GIVEN), "'kwargs' in the place"),
        (called(order_id="#W1", reason=7), "'order_id', 'reason' in the place"),
        ({**called(), "tool_input": GIVEN}, "'tool_input' in the place"),
        ({"name": "f", "params": GIVEN}, "'params' in the place"),
        (called(arguments='{"a": '), "The arguments of 'f' are a text that is not valid JSON"),
        (called(input="x"), "The input of 'f' are a text that is not valid JSON"),
        (called(args=[GIVEN]), "must be a JSON object"),
        (called(arguments=False), "must be a JSON object"),
        (called(name=7, arguments=TEXT), 'no "name"'),
        ({"type": "tool-call", "toolName": "f", "args": GIVEN}, 'no "name"'),
        ({"functionCall": {"name": "f", "args": GIVEN}}, 'no "name"'),
    ],
)
def test_any_other_call_is_refused_by_name(call: Any, words: str) -> None:
    alone, second = action_of(asking(call)), action_of(asking(called(arguments=TEXT), call))
    assert isinstance(alone, ActionError)
    assert words in alone.message
    assert second.code == alone.code
    assert second.message.endswith(alone.message)
    assert "None of the 2 calls ran, because call 2 cannot be read" in second.message


ITEM = {"type": "function_call", "id": "fc_9", "call_id": "c1", "name": "f", "arguments": TEXT, "status": "completed"}
USE = {"type": "tool_use", "id": "c1", "name": "f", "input": GIVEN, "caller": {"type": "direct"}}
SPOKEN = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Now.", "logprobs": []}]}
THOUGHT = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
CALL = ToolCall("f", GIVEN, "c1")


def completion(message: Any, **more: Any) -> Any:
    return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop", **more}]}


@pytest.mark.parametrize(
    ("given", "action"),
    [
        (completion({"role": "assistant", "content": "Now."}), Say("Now.")),
        (completion({"content": "Now."}), Say("Now.")),
        (completion(asking(called(args=GIVEN))), Calls((CALL,))),
        (completion({"role": "assistant", "content": [{"type": "text", "text": "Now."}, USE]}), Calls((CALL,), "Now.")),
        (completion(asking(called(arguments=TEXT)))["choices"][0], Calls((CALL,))),
        (ITEM, Calls((CALL,))),
        (SPOKEN, Say("Now.")),
        ({"object": "response", "output": [THOUGHT, SPOKEN, ITEM]}, Calls((CALL,), "Now.")),
        ({"output": [SPOKEN]}, Say("Now.")),
        ([THOUGHT, SPOKEN, SimpleNamespace(model_dump=lambda exclude_none: ITEM)], Calls((CALL,), "Now.")),
        (USE, Calls((CALL,))),
        ({"type": "message", "role": "assistant", "content": [{"type": "thinking"}, USE]}, Calls((CALL,))),
        ({"role": "assistant", "content": [SimpleNamespace(model_dump=lambda exclude_none: USE)]}, Calls((CALL,))),
        ({"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": TEXT}}, None),
        (called(arguments=TEXT), Calls((CALL,))),
        ({"name": "f", "arguments": GIVEN}, None),
        (SimpleNamespace(model_dump=lambda exclude_none: completion(asking(called(input=GIVEN)))), Calls((CALL,))),
    ],
)
def test_a_whole_reply_with_one_reading_is_read(given: Any, action: Any) -> None:
    assert action_of(given) == (action or Calls((ToolCall("f", GIVEN),)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"choices": []}, "0 choices"),
        ({"choices": [completion(SPOKEN)["choices"][0]] * 2}, "2 choices"),
        ({"choices": [{"text": "Now."}]}, "no message"),
        (THOUGHT, "'type', 'summary'"),
        ({"output": [SPOKEN, {"type": "web_search_call"}]}, "'web_search_call'"),
        ({"role": "assistant", "content": [{"type": "tool-call", "toolName": "f"}, USE]}, "'tool-call'"),
        ({"type": "message", "content": [{"functionCall": {"name": "f"}}]}, "functionCall"),
        ({"input": GIVEN}, "'input'"),
        ({"text": "Now.", "usage": {}}, "'text', 'usage'"),
        ([], "a list"),
        ([{"role": "assistant", "content": "Now."}], "an item None"),
        (7, "an? int"),
        (SimpleNamespace(model_dump=lambda exclude_none: "Now."), "no dictionary"),
        (SimpleNamespace(model_dump=lambda exclude_none: 1 // 0), "raised ZeroDivisionError"),
    ],
)
def test_any_other_reply_is_refused_by_name(given: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        as_action(given)


@pytest.mark.parametrize("parts", [[], [{"type": "thinking", "thinking": "Hm."}]])
def test_silence_is_the_models_own(parts: Any) -> None:
    cut = {"object": "response", "output": [THOUGHT], "incomplete_details": {"reason": "max_output_tokens"}}
    assert further_fields(as_action(cut)) == {"finish_reason": "length"}
    for given in (cut, {"object": "response", "output": []}, {"type": "message", "content": parts}):
        assert action_of(given).code == "empty_action"


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (completion({"content": "I w"}, finish_reason="abort"), "server_error"),
        (completion({"content": "I w"}, finish_reason="content_filter")["choices"][0], "content_filter"),
        (completion({"content": "I w"}, error={"code": 502}), "server_error"),
        ({"object": "response", "output": [SPOKEN], "error": {"code": "server_error"}}, "server_error"),
        ({"object": "response", "output": [SPOKEN], "status": "cancelled"}, "server_error"),
        (
            {"object": "response", "output": [SPOKEN], "incomplete_details": {"reason": "content_filter"}},
            "content_filter",
        ),
    ],
)
def test_a_reply_that_was_broken_off_is_a_fault(given: Any, kind: str) -> None:
    with pytest.raises(Fault) as caught:
        as_action(given)
    assert caught.value.kind == kind
