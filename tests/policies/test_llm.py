"""The policy that asks a model, against a real HTTP server."""

from __future__ import annotations

import json
import pickle
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from simia_gym.actions import get_grammar
from simia_gym.actions.calls import read_action
from simia_gym.errors import Fault
from simia_gym.llm.transport.http import close_connections
from simia_gym.policies import PolicyOptions, PolicyStart, load_policy
from simia_gym.policies.llm import LLMPolicy
from simia_gym.policies.openai_messages import openai_messages
from simia_gym.types import Calls, JsonObject, Message, ToolCall

WEBSHOP = "simia_gym.envs.webshop.grammar:WebshopGrammar"

SECRET = "sk-very-secret-1234567890"
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
Answer = web.StreamResponse | JsonObject


def completion(message: JsonObject, reason: str = "stop") -> JsonObject:
    return {
        "id": "x",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }


def says(text: str | None) -> JsonObject:
    return completion({"role": "assistant", "content": text})


class Server:
    """Answers requests from a list, the last answer for ever, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Callable[[], Answer]] = []
        self.bodies: list[JsonObject] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    async def chat(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        self.headers.append(dict(request.headers))
        answer = (self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])()
        if isinstance(answer, web.StreamResponse):
            return answer
        return web.json_response(answer)


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    it = Server()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", it.chat)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    it.url = f"http://127.0.0.1:{port}/v1"
    yield it
    await close_connections()
    await runner.cleanup()


def policy(server: Server, **changes: Any) -> LLMPolicy:
    settings: dict[str, Any] = {
        "model": "m",
        "base_url": server.url,
        "api_key": SECRET,
        "backoff": 0.001,
        "timeout": 5.0,
    }
    made = load_policy("llm", options=PolicyOptions(**{**settings, **changes}))()
    assert isinstance(made, LLMPolicy)
    return made


def error(status: int, **headers: str) -> Callable[[], Answer]:
    body = {"error": {"message": f"bad key {SECRET}", "code": "some_code"}}
    return lambda: web.json_response(body, status=status, headers=headers)


async def test_text_becomes_itself_and_the_request_is_clean(server: Server) -> None:
    server.answers = [lambda: says("<think>x</think>Hello!")]
    assert await policy(server, temperature=0.5, max_tokens=7, extra={"top_k": 3}).act(TALK) == "<think>x</think>Hello!"
    (body,) = server.bodies
    assert body == {
        "model": "m",
        "temperature": 0.5,
        "max_tokens": 7,
        "top_k": 3,
        "messages": [
            {"role": "system", "content": "Rules."},
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": "é"}'}},
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "Error: no"},
        ],
    }
    assert server.headers[0]["Authorization"] == f"Bearer {SECRET}"


async def test_tool_calls_become_an_action(server: Server) -> None:
    call = {"id": "c9", "index": 0, "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"}
    server.answers = [lambda: completion(message)]
    tool = {"type": "function", "x-simia": {}, "function": {"name": "f", "parameters": {"type": "object"}}}
    one = policy(server, native_tools=True)
    one.start(PolicyStart(env="x", seed=0, tools=[tool], grammar=get_grammar("tools")))
    assert read_action(get_grammar("tools"), await one.act(TALK))[1] == Calls((ToolCall("f", {"a": 1}, "c9"),))
    assert server.bodies[0]["tools"] == [{"type": "function", "function": tool["function"]}]
    one.start(PolicyStart(env="x", seed=0, tools=[tool], grammar=get_grammar(WEBSHOP)))
    await one.act(TALK)
    assert "tools" not in server.bodies[1]


@pytest.mark.parametrize(
    ("answer", "kind", "requests"),
    [
        (error(429), "rate_limit", 3),
        (error(401), "auth", 1),
    ],
)
async def test_failures_become_faults(server: Server, answer: Callable[[], Answer], kind: str, requests: int) -> None:
    server.answers = [answer]
    with pytest.raises(Fault) as caught:
        await policy(server, retries=2, timeout=10.0).act(TALK)
    fault = caught.value
    assert (fault.kind, fault.role) == (kind, "policy")
    assert len(server.bodies) == requests
    assert f"{requests} tr" in fault.message
    assert "127.0.0.1" in fault.message
    assert SECRET not in f"{fault} {fault!r} {fault.__cause__!r} {fault.__context__!r}"
    assert str(pickle.loads(pickle.dumps(fault))) == str(fault)


@pytest.mark.parametrize("reason", ["stop", "length"])
async def test_a_model_that_stays_silent_does_nothing(server: Server, reason: str) -> None:
    server.answers = [lambda: completion({"role": "assistant", "content": None}, reason)]
    assert await policy(server, retries=9).act(TALK) == ""
    assert len(server.bodies) == 3


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


def test_transcripts_are_made_valid() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    lost = {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}}
    messages: list[Message] = [
        {"role": "env", "content": "start"},
        {"role": "assistant", "content": None},
        {"role": "tool", "content": "Error: malformed", "error_code": "malformed_call"},
        {"role": "assistant", "content": "hm", "tool_calls": [call, lost]},
        {"role": "tool", "tool_call_id": "zz", "content": "stray"},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        {"role": "assistant", "content": None, "tool_calls": [lost]},
    ]
    before = json.dumps(messages)
    assert openai_messages(messages) == [
        {"role": "user", "content": "start"},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "Error: malformed"},
        {"role": "assistant", "content": "hm", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        {"role": "user", "content": "stray"},
        {"role": "assistant", "content": ""},
    ]
    assert json.dumps(messages) == before
