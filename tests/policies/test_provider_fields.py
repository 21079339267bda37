"""The assistant's message goes back as it came: against a server that refuses a conversation without its own fields."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import gymnasium
import pytest
from aiohttp import web
from openai.types.chat import ChatCompletion, ChatCompletionMessage

from simia_gym import evaluate, read_records, transcript
from simia_gym.errors import Fault
from simia_gym.llm.cassette import Cassette
from simia_gym.policies import PolicyOptions
from simia_gym.policies.llm import LLMPolicies, LLMPolicy
from simia_gym.rollout.replay import replay_file

from ..llm.server import SECRET
from ..model_server import Answer, Asked, ModelServer, completion, serving

SIGNED = {"google": {"thought_signature": "c2ln", "null": None}}
DETAILS = [{"type": "reasoning.encrypted", "id": None, "data": "x"}]


def insists(thought: str = "", back: str = "") -> Answer:
    """Calls a tool, then talks, and so on; answers 400 to a conversation in which a field of its own is lost."""
    numbers = itertools.count()
    own: dict[str, Any] = {
        "reasoning_content": thought,
        "reasoning_details": DETAILS,
        "refusal": None,
        "annotations": [],
    }
    kept = {"reasoning_content": back or thought, "reasoning_details": DETAILS}

    def answer(asked: Asked) -> web.Response:
        said = [message for message in asked.messages if message["role"] == "assistant"]
        for number, message in enumerate(said):
            calls: Any = message.get("tool_calls", [])
            sent = {name: value for name, value in message.items() if name not in ("role", "content", "tool_calls")}
            if sent != kept or any(call["extra_content"] != SIGNED or call["index"] != 0 for call in calls):
                return web.json_response({"error": {"message": "a thought_signature is missing"}}, status=400)
            assert bool(calls) == (number % 2 == 0)
        if len(said) % 2:
            return completion("Could you tell me your email address, please?", **own)
        call = {"id": f"c{next(numbers)}", "type": "function", "index": 0, "extra_content": SIGNED}
        return completion(None, "tool_calls", tool_calls=[{**call, "function": NAMED}], **own)

    return answer


NAMED = {"name": "find_customer_by_email", "arguments": '{"email": "a@b.org"}'}


def options(server: ModelServer) -> PolicyOptions:
    return PolicyOptions(model="m", base_url=server.url, api_key=SECRET, native_tools=True, retries=0)


async def raw_message(server: ModelServer, messages: Any, tools: Any) -> Any:
    body, url = {"messages": messages, "tools": tools}, f"{server.url}/chat/completions"
    async with aiohttp.ClientSession() as session, session.post(url, json=body) as got:
        assert got.status == 200, await got.text()
        return await got.json()


SHAPES: dict[str, Callable[[Any], Any]] = {
    "dictionary": lambda body: body["choices"][0]["message"],
    "sdk": lambda body: ChatCompletionMessage.model_validate(body["choices"][0]["message"]),
    "completion": lambda body: ChatCompletion.model_validate({**body, "created": 1}),
}


@pytest.mark.parametrize("agent", ["llm", *SHAPES])
@pytest.mark.slow
async def test_a_server_gets_its_own_fields_again(agent: str, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    # A model may be shown the request's headers.
    says = insists(f"the key is {SECRET}", "the key is ***") if agent == "llm" else insists()
    async with serving(says) as server:

        async def own(messages: Any, tools: Any) -> Any:
            return SHAPES[agent](await raw_message(server, messages, tools))

        player = LLMPolicy(options(server)) if agent == "llm" else own
        report = await asyncio.to_thread(evaluate, "simia/retail-v0", player, max_turns=4, out=path)
    (series,) = report["series"]
    assert (series["valid"], series["faults"]) == (series["episodes"], {})
    assert max(len(body["messages"]) for body in server.bodies) >= 8
    records = list(read_records(path))
    for record in records:
        said = [message for message in transcript(record) if message["role"] == "assistant"]
        assert [message["reasoning_details"] for message in said] == [DETAILS] * 4
        assert said[0]["tool_calls"][0]["extra_content"] == SIGNED
    assert [proof.reason for proof in replay_file(path)] == [""] * len(records)
    assert agent != "llm" or SECRET not in path.read_text()


async def test_a_cassette_keeps_them(tmp_path: Path) -> None:
    tape = tmp_path / "c.jsonl"
    heads = []
    async with serving(insists()) as server:
        for mode in ("record", "replay"):
            cassette = Cassette(tape, mode)
            player = LLMPolicies(options(server), cassette=cassette)()
            report = await asyncio.to_thread(
                evaluate, "simia/retail-v0", player, max_turns=4, out=tmp_path / f"{mode}.jsonl"
            )
            assert report["series"][0]["invalid"] == 0
            cassette.close()
            heads.append([record.head for record in read_records(tmp_path / f"{mode}.jsonl")])
    assert heads[0] == heads[1]
    assert "thought_signature" in tape.read_text()
    assert SECRET not in tape.read_text()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_step_takes_the_message_of_an_sdk(shape: str) -> None:
    call = {"id": "c1", "type": "function", "extra_content": SIGNED, "function": NAMED}
    message = {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_details": DETAILS}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    body = {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]}
    env: Any = gymnasium.make("simia/retail-v0", disable_env_checker=True).unwrapped
    _, start = env.reset(seed=1)
    *_, info = env.step(SHAPES[shape](body))
    (answer,) = info["messages"]
    assert answer.keys() == {"role", "content", "tool_call_id"}
    assert (answer["role"], answer["tool_call_id"]) == ("tool", "c1")
    assert info["error_code"]
    said = env.episode.messages[2]
    assert json.loads(json.dumps(said)) == {**message, "content": ""}
    assert all(each.keys() == {"role", "content"} for each in start["messages"])


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        *((reason, "server_error") for reason in ("abort", "error", "network_error")),
        ("content_filter", "content_filter"),
    ],
)
async def test_nothing_of_a_completion_that_the_server_broke_off_is_executed(reason: str, kind: str) -> None:
    async with serving(lambda asked: completion("I will now", reason)) as server:
        player = LLMPolicy(PolicyOptions(model="m", base_url=server.url, api_key=SECRET, retries=1, backoff=0.001))
        report = await asyncio.to_thread(evaluate, "simia/retail-v0", player)
    (series,) = report["series"]
    assert (series["valid"], series["faults"]) == (0, {f"policy:{kind}": series["episodes"]})
    assert report["run"]["stopped"] == "faults"
    assert len(server.asked) == 2 * series["episodes"]


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (lambda asked: completion(None, reasoning_content="hm"), "bad_reply", "reasoning parser"),
        (lambda asked: completion(None, function_call=NAMED), "bad_reply", "let it write tool_calls"),
        (lambda asked: web.json_response({"error": {"message": "slow down", "code": 429}}), "rate_limit", "slow down"),
        (lambda asked: web.json_response({"error": {"message": "no key", "code": "401"}}), "auth", "status 200"),
    ],
)
async def test_a_fault_says_what_to_do(answer: Answer, kind: str, words: str) -> None:
    async with serving(answer) as server:
        player = LLMPolicy(PolicyOptions(model="m", base_url=server.url, api_key=SECRET, retries=1, backoff=0.001))
        with pytest.raises(Fault, match=words) as caught:
            await player.act([{"role": "user", "content": "Hi"}])
    assert caught.value.kind == kind


@pytest.mark.parametrize("turns", [0, 2])
async def test_what_outgrows_the_context_is_cut_and_counted(turns: int, tmp_path: Path) -> None:
    def answer(asked: Asked) -> web.Response:
        if sum(message["role"] == "assistant" for message in asked.messages) >= turns:
            return web.json_response({"error": {"message": "maximum context length is 9"}}, status=400)
        return completion("Could you tell me your email addr", "length")

    path = tmp_path / "r.jsonl"
    async with serving(answer) as server:
        player = LLMPolicy(options(server))
        report = await asyncio.to_thread(evaluate, "simia/retail-v0", player, out=path)
    (series,) = report["series"]
    if not turns:  # nothing ever fits: a wrong setting
        assert set(series["faults"]) == {"policy:context_length"}
        return
    assert (series["valid"], series["context_overflows"]) == (20, 20)
    assert series["length"] == 40
    assert "20 episodes" in str(report)
    for record in read_records(path):
        assert (record.ended, record.reward) == ("context_limit", 0)
        assert [event["finish_reason"] for event in record.events if event["type"] == "action"] == ["length"] * 2
    assert {proof.reason for proof in replay_file(path)} == {""}
