"""Whole episodes against a server that refuses every conversation that a strict chat API refuses."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion

from simia_gym import evaluate, read_records, transcript
from simia_gym.policies import PolicyOptions
from simia_gym.policies.llm import LLMPolicies
from simia_gym.policies.openai_messages import openai_messages
from simia_gym.record.records import Record
from simia_gym.rollout.replay import replay_file

from ..actions import FUZZ
from ..llm.server import SECRET
from ..model_server import Answer, Asked, ModelServer, completion, serving
from ..sweeps import sweep
from .test_provider_fields import raw_message

KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "tool": {"role", "content", "tool_call_id"},
    "assistant": {"role", "content", "tool_calls"},
}
AFTER = {"system": {"user"}, "user": {"assistant"}, "tool": {"assistant"}, "assistant": {"user"}}


def check(messages: list[dict[str, Any]]) -> None:
    """Assert what strict chat APIs demand of a conversation."""
    ids: set[str] = set()
    waiting: list[str] = []
    expected = {"system"}
    for message in messages:
        role = message["role"]
        assert role in ({"tool"} if waiting else expected), (role, waiting, expected)
        assert message.keys() <= KEYS[role], message
        expected = AFTER[role]
        if role == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        calls = message.get("tool_calls", [])
        assert isinstance(message["content"], str) or (calls and message["content"] is None)
        assert message["content"] or calls
        assert calls or "tool_calls" not in message
        for call in calls:
            assert call.keys() == {"id", "type", "function"}, call
            assert isinstance(call["id"], str)
            assert call["id"].strip()
            assert call["id"] not in ids
            ids.add(call["id"])
            waiting.append(call["id"])
            assert call["type"] == "function"
            assert call["function"].keys() == {"name", "arguments"}, call
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["function"]["name"])
            assert isinstance(call["function"]["arguments"], str)
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert not waiting
    assert messages[-1]["role"] in ("user", "tool")


FIND, LIST = "find_customer_by_email", "list_all_product_types"
MAIL = {"email": "a@b.org"}
TEXT = json.dumps(MAIL)


def call(call_id: Any = "c1", name: Any = LIST, **function: Any) -> Any:
    made = {"type": "function", "function": {"name": name, **function}}
    return made if call_id is ... else {"id": call_id, **made}


def flat(name: str, **more: Any) -> Any:
    return {"id": "c1", "type": "tool_call", "name": name, **more}


TURNS: list[tuple[list[Any], Any]] = [
    ([call("c1", arguments="{}"), call("c1", FIND, arguments=TEXT)], [{}, MAIL]),
    ([call("c1", arguments="{}"), call("c1_2", FIND, arguments=TEXT)], [{}, MAIL]),
    ([call(7, arguments=None), call(7, arguments="")], [{}, {}]),
    ([call("", arguments=" "), call(" ", arguments="null"), call(None), call(...)], [{}] * 4),
    ([call(..., arguments="{}"), call("call_5_0", arguments="{}")], [{}, {}]),
    ([flat(FIND, args=MAIL), {**flat(FIND, input=MAIL), "type": "tool_use"}], [MAIL, MAIL]),
    ([call("c1", FIND, arguments=None, parameters=MAIL)], [MAIL]),
    ([call("c1", FIND, arguments='{"email": ')], "not valid JSON"),
    ([call(3, FIND, arguments='["a@b.org"]'), call(3, FIND, arguments=TEXT)], "call 1 cannot be read"),
    ([call("c1", FIND, arguments=TEXT), call("", FIND, arguments="{email}")], "call 2 cannot be read"),
    ([call("c1", FIND, args=MAIL, input=MAIL)], 'both "args" and "input"'),
    ([call("c1", FIND, kwargs=MAIL)], "'kwargs' in the place"),
    ([flat(FIND, email="a@b.org")], "'email' in the place"),
    ([call("c1", None, arguments=TEXT)], 'no "name"'),
    ([call("c1", " ", arguments=TEXT), call("c2")], 'no "name"'),
    ([call(f"c{number}", arguments="{}") for number in range(17)], "at most 16 calls"),
    ([call("c1", "no_such_tool", arguments="{}")], [{}]),
    ([call("c1", FIND, arguments=TEXT)], [MAIL]),
]
"""The calls of a reply; and the arguments with which tools are run, or words of the error."""


def plays(asked: Asked) -> web.Response:
    """A server that plays these turns, and talks before, between and behind them."""
    try:
        check(asked.messages)
    except (AssertionError, KeyError, ValueError) as error:
        return web.json_response({"error": {"message": f"refused: {error!r}"}}, status=400)
    said = sum(message["role"] == "assistant" for message in asked.messages)
    if said % 7 == 0 or said // 7 * 6 + said % 7 > len(TURNS):
        return completion("Could you tell me your email address, please?")
    calls, _ = TURNS[said // 7 * 6 + said % 7 - 1]
    return completion("I look." if said % 2 else None, "tool_calls", tool_calls=calls)


SHAPES: dict[str, Callable[[Any], Any]] = {
    "message": lambda body: body["choices"][0]["message"],
    "choice": lambda body: body["choices"][0],
    "completion": lambda body: body,
    "sdk": lambda body: ChatCompletion.model_construct(**body),
}


def heard(record: Record) -> list[Any]:
    """What became of each reply with calls: the arguments of the calls that ran, or the error."""
    turns = []
    for turn, events in itertools.groupby(record.events[1:], key=lambda event: event.get("turn")):
        answers = list(events)
        ran = [event["call"]["arguments"] for event in answers if event.get("call")]
        wrong = [event["text"] for event in answers if event["type"] == "invalid"]
        if turn and (ran or wrong):
            turns.append(ran or wrong[0])
    return turns


@pytest.mark.parametrize("agent", sweep(["llm", *SHAPES], 2))
@pytest.mark.slow
async def test_every_request_is_one_that_strict_servers_take(agent: str, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    async with serving(plays) as server:

        async def own(messages: Any, tools: Any) -> Any:
            return SHAPES[agent](await raw_message(server, messages, tools))

        player = LLMPolicies(options(server))() if agent == "llm" else own
        report = await asyncio.to_thread(evaluate, "simia/retail-v0", player, max_turns=21, concurrency=1, out=path)
    (series,) = report["series"]
    assert (series["valid"], series["faults"]) == (series["episodes"], {})
    records = list(read_records(path))
    last = [body["messages"] for body in server.bodies if sum(m["role"] == "assistant" for m in body["messages"]) == 20]
    assert len(last) == len(records)
    for record, asked in zip(records, last, strict=True):
        found = heard(record)
        assert len(found) == len(TURNS)
        for got, (_, wanted) in zip(found, TURNS, strict=True):
            assert wanted in got if isinstance(wanted, str) else got == wanted
        assert openai_messages(transcript(record))[: len(asked)] == asked
    assert [proof.reason for proof in replay_file(path)] == [""] * len(records)


@pytest.fixture(scope="module")
def env() -> Any:
    return gymnasium.make("simia/retail-v0", disable_env_checker=True).unwrapped


def options(server: ModelServer) -> PolicyOptions:
    return PolicyOptions(model="m", base_url=server.url, api_key=SECRET, native_tools=True, retries=0)


def test_a_step_answers_each_refused_call(env: Any) -> None:
    env.reset(seed=1)
    broken = call("c9", FIND, arguments="{email}", thought_signature="x")
    message = {"role": "assistant", "content": "Now.", "tool_calls": [broken, call(4, arguments="{}")], "own": 1}
    observation, *_, info = env.step(message)
    first, second = info["messages"]
    assert [(each["role"], each["tool_call_id"]) for each in (first, second)] == [("tool", "c9"), ("tool", "call_1_1")]
    assert "call 1 cannot be read" in first["content"]
    assert second["content"] == "Error: not run; the answer to the first call of the message says why."
    assert observation == f"{first['content']}\n\n{second['content']}"
    assert info["error_code"] == "bad_arguments"
    said = json.loads(json.dumps(env.episode.messages[2]))
    assert (said["content"], said["own"]) == ("Now.", 1)
    shown = {"name": FIND, "arguments": '{"invalid_arguments": "{email}"}', "thought_signature": "x"}
    assert said["tool_calls"][0] == {"id": "c9", "type": "function", "function": shown}
    assert [one["id"] for one in said["tool_calls"]] == ["c9", "call_1_1"]


@pytest.mark.parametrize(
    "message",
    [
        {"tool_calls": "x"},
        {"tool_calls": [7]},
        {"tool_calls": [call(arguments="{}")] * 200},
        {"tool_calls": [call(arguments="{}")], "role": "user"},
        {"tool_calls": [call(arguments={"a": 10**5000})]},
        {"content": 7},
        "<tool_call>{",
        '{"tool_calls": [{"name": "\\ud800"}]}',
    ],
)
def test_what_has_no_calls_to_answer_is_answered_as_a_text(env: Any, message: Any) -> None:
    env.reset(seed=1)
    *_, info = env.step({"role": "assistant", "content": None, **message} if isinstance(message, dict) else message)
    assert info["error_code"]
    assert [one["role"] for one in info["messages"]] == ["user"]
    check([each for each in openai_messages(env.episode.messages) if each["role"] != "user" or each["content"]])


_texts = st.text(max_size=3) | st.sampled_from(["c1", "call_1_1", "null", "{}", '{"a": NaN}', "\ud800", "</think>x"])
_values = st.none() | st.integers() | st.floats() | _texts | st.lists(_texts, max_size=2)
_functions = st.dictionaries(st.sampled_from(["name", "arguments", "args", "input", "kwargs"]), _values)
_calls = st.dictionaries(st.sampled_from(["id", "call_id", "name"]), _values) | st.builds(
    lambda call_id, function: {"id": call_id, "function": function}, _values, _functions | _values
)


@FUZZ
@given(turns=st.lists(st.tuples(_values, st.lists(_calls, min_size=1, max_size=4)), min_size=1, max_size=3))
def test_any_calls_are_answered(env: Any, turns: Any) -> None:
    env.reset(seed=1)
    for content, calls in turns:
        before = len(env.episode.messages)
        *_, info = env.step({"role": "assistant", "content": content, "tool_calls": calls})
        assert len(env.episode.messages) == before + 1 + len(info["messages"])
    messages = openai_messages(env.episode.messages)
    for message in messages:
        for made in message.get("tool_calls", ()):
            made["function"] = {"name": "any", "arguments": made["function"]["arguments"]}
    check(messages)


@pytest.mark.parametrize("listed", ["x", {"name": FIND}, [7], [{"id": "c1"}]])
async def test_what_a_server_sends_in_the_place_of_calls_is_its_fault(listed: Any) -> None:
    answer: Answer = lambda asked: completion(None, tool_calls=listed)  # noqa: E731
    async with serving(answer) as server:
        player = LLMPolicies(options(server))
        report = await asyncio.to_thread(evaluate, "simia/retail-v0", player(), max_turns=2)
    (series,) = report["series"]
    assert set(series["faults"]) == {"policy:bad_reply"}
