"""The policy that asks a model, against a real HTTP server."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from simia_gym.actions import get_grammar
from simia_gym.actions.calls import read_action
from simia_gym.errors import Fault, InputError
from simia_gym.policies import PolicyOptions, PolicyStart, load_policy
from simia_gym.policies.llm import LLMPolicy
from simia_gym.types import Calls, Message, ToolCall

from ..actions import WEBSHOP
from ..llm.server import SECRET
from ..model_server import ModelServer, completion, serving

TALK: list[Message] = [
    {"role": "system", "content": "Rules."},
    {"role": "user", "content": "Hi", "speaker": "user"},
    {
        "role": "assistant",
        "content": "",
        "turn": 1,
        "tool_calls": [
            {"id": "c1", "type": "function", "index": 0, "function": {"name": "f", "arguments": {"a": "é"}, "x": 1}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "Error: no", "error_code": "not_found"},
]


SWITCH = "enable_thinking"


def policy(server: ModelServer, **changes: Any) -> LLMPolicy:
    settings = {"model": "m", "base_url": server.url, "api_key": SECRET, "backoff": 0.001, "timeout": 10.0, **changes}
    made = pickle.loads(pickle.dumps(load_policy("llm", options=PolicyOptions(**settings))))()
    assert isinstance(made, LLMPolicy)
    return made


async def test_text_becomes_itself_and_the_request_is_clean() -> None:
    async with serving(lambda asked: "<think>x</think>Hello!") as server:
        one = policy(server, temperature=0.5, max_tokens=7, extra={"top_k": 3})
        assert await one.act(TALK) == "<think>x</think>Hello!"
    (asked,) = server.asked
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": "é"}', "x": 1}}
    assert asked.body == {
        "model": "m",
        "temperature": 0.5,
        "max_tokens": 7,
        "top_k": 3,
        "messages": [
            {"role": "system", "content": "Rules."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": None, "turn": 1, "tool_calls": [{**call, "index": 0}]},
            {"role": "tool", "tool_call_id": "c1", "content": "Error: no"},
        ],
    }
    assert asked.request.headers["Authorization"] == f"Bearer {SECRET}"


async def test_thinking_is_turned_off_by_the_request_and_cannot_be_kept() -> None:
    async with serving(lambda asked: "Hello!") as server:
        await policy(server, thinking="never", extra={"chat_template_kwargs": {"x": 1}}).act(TALK)
        await policy(server).act(TALK)
        for wrong in ({"thinking": "keep"}, {"thinking": "never", "extra": {"chat_template_kwargs": {SWITCH: True}}}):
            with pytest.raises(InputError, match=r"policy\.thinking"):
                policy(server, **wrong)
    assert [body.get("chat_template_kwargs") for body in server.bodies] == [{"x": 1, SWITCH: False}, None]


async def test_tool_calls_become_an_action() -> None:
    call = {"id": "c9", "index": 0, "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    tool = {"type": "function", "x-simia": {}, "function": {"name": "f", "parameters": {"type": "object"}}}
    async with serving(lambda asked: completion(None, tool_calls=[call], reasoning_content="hm")) as server:
        one = policy(server, native_tools=True)
        one.start(PolicyStart(env="x", seed=0, tools=[tool], grammar=get_grammar("tools")))
        assert read_action(get_grammar("tools"), await one.act(TALK))[1] == Calls((ToolCall("f", {"a": 1}, "c9"),))
        one.start(PolicyStart(env="x", seed=0, tools=[tool], grammar=get_grammar(WEBSHOP)))
        await one.act(TALK)
    assert [body.get("tools") for body in server.bodies] == [[{"type": "function", "function": tool["function"]}], None]


async def test_a_failure_is_a_fault_of_the_policy() -> None:
    async with serving(lambda asked: 429) as server:
        with pytest.raises(Fault) as caught:
            await policy(server, retries=2).act(TALK)
    assert (caught.value.kind, caught.value.role, len(server.asked)) == ("rate_limit", "policy", 3)


@pytest.mark.parametrize("reason", ["stop", "length"])
async def test_a_model_that_stays_silent_does_nothing(reason: str) -> None:
    async with serving(lambda asked: completion(None, reason)) as server:
        assert await policy(server, retries=9).act(TALK) == ""
    assert len(server.asked) == 3


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIMIA_POLICY_MODEL", "m")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    options = PolicyOptions().resolved()
    assert (options.model, options.base_url, options.api_key) == ("m", "http://127.0.0.1:1/v1", SECRET)
    assert SECRET not in repr(options)
    monkeypatch.setenv("SIMIA_POLICY_BASE_URL", "http://127.0.0.1:2/v1")
    monkeypatch.setenv("SIMIA_POLICY_API_KEY", "own")
    options = PolicyOptions(model="given").resolved()
    assert (options.model, options.base_url, options.api_key) == ("given", "http://127.0.0.1:2/v1", "own")
