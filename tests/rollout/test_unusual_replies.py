"""Whole rollouts with models that answer rightly, but in unusual forms, and sometimes not readably at all."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.llm.cassette import Cassette
from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread
from simia_gym.record.records import Record
from simia_gym.rollout.replay import replay_file
from simia_gym.types import JsonObject

from ..model_server import Answer, Asked, completion, serving
from .conftest import Roll

ENV = "simia/retail-v0"
WORDS = "Let me see what can be done here."


@pytest.fixture(scope="module")
def oracle() -> Iterator[OracleServer]:
    with serve_in_thread(OracleOptions()) as server:
        yield server


def without_slashes(value: JsonObject) -> JsonObject:
    """An answer of the simulator whose paths have no slash at their beginning."""
    ops = [{**op, "path": op["path"][1:]} for op in value.get("ops", ())]
    return {**value, "ops": ops} if ops else value


def habit(number: int, value: JsonObject) -> Any:
    """A reply in one of the forms in which models write."""
    value = without_slashes(value)
    text = json.dumps(value, ensure_ascii=False)
    message: JsonObject = {}
    if number == 0:
        content: str | None = repr(value)
    elif number == 1:
        content = json.dumps({"answer": {key.upper(): item for key, item in value.items()}})
    elif number == 2:
        content = f"<think>The row is there.\n{text}"
    elif number == 3:
        content = json.dumps({"thought": "It fits.", **value})
    else:
        content = None
        call = {"id": "c", "type": "function", "function": {"name": "answer", "arguments": text}}
        message = {"tool_calls": [call]}
    return completion(content, "stop", {"prompt_tokens": 9, "completion_tokens": 5}, **message)


def sloppy(oracle: OracleServer) -> Answer:
    """A model that knows the truth and writes it in unusual forms; every fifth reply is words alone at first."""

    async def answer(asked: Asked) -> Any:
        body = asked.body
        if not isinstance(body.get("messages"), list) or not asked.blocks:
            return WORDS
        complained = "could not be read" in asked.contents[-1]
        drawn = zlib.crc32(json.dumps(body["messages"][: -2 if complained else None]).encode())
        if drawn % 5 == 0 and not complained:
            return WORDS
        if complained:
            assert asked.value("violations")
            body = {**body, "messages": body["messages"][:-2]}
        url = f"{oracle.base_url}/chat/completions"
        async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
            reply = await response.json()
        return habit(drawn // 5 % 5, json.loads(reply["choices"][0]["message"]["content"]))

    return answer


async def rolled(
    path: Path, base_url: str, cassette: Cassette | None = None, **roles: JsonObject
) -> tuple[list[Record], JsonObject]:
    config = EnvConfig(ENV, simulator="llm", user="llm", model="oracle", split="train", roles=roles)
    suite = load_suite(config, Resources(base_url=base_url, cassette=cassette))
    roll = Roll(suite, path)
    summary = await asyncio.to_thread(roll, suite.load_policy("expert"), episodes=4, group=2, policy="expert")
    records = sorted(roll.records, key=lambda record: record.key)
    return records, {"read": dict(summary.read), "unread": summary.unread}


async def test_it_plays_as_with_a_model_in_perfect_form_and_is_proven(oracle: OracleServer, tmp_path: Path) -> None:
    perfect, nothing = await rolled(tmp_path / "perfect.jsonl", oracle.base_url)
    assert nothing == {"read": {}, "unread": 0}
    async with serving(sloppy(oracle)) as server:
        kept = Cassette(tmp_path / "c.jsonl", "record")
        records, counted = await rolled(tmp_path / "sloppy.jsonl", server.url, kept)
        kept.close()
    assert all(record.valid for record in records), [record.fault for record in records]
    assert [record.reward for record in records] == [record.reward for record in perfect] == [1.0] * 4
    said = [[e["observation"] for e in record.events if e["type"] == "transition"] for record in records]
    assert said == [[e["observation"] for e in record.events if e["type"] == "transition"] for record in perfect]
    assert {"syntax", "wrapper", "case", "thinking", "path", "extra", "tool_calls"} <= set(counted["read"])
    events = [event for record in records for event in record.events]
    assert Counter(e["type"] for e in events)["unread"] == counted["unread"] > 0
    assert {e["reply"] for e in events if e["type"] == "unread"} == {WORDS}
    proofs = list(replay_file(tmp_path / "sloppy.jsonl"))
    assert [proof.proven for proof in proofs] == [True] * 4, [proof.reason for proof in proofs]
    again, _ = await rolled(tmp_path / "again.jsonl", "http://127.0.0.1:9/v1", Cassette(tmp_path / "c.jsonl", "replay"))
    assert [record.events for record in again] == [record.events for record in records]


async def test_what_a_strict_reader_gives_up_is_proven_too(oracle: OracleServer, tmp_path: Path) -> None:
    strict = {"read": "strict", "repairs": 1}
    async with serving(sloppy(oracle)) as server:
        records, counted = await rolled(tmp_path / "r.jsonl", server.url, simulator=strict, user=strict)
    assert {(record.fault or {}).get("kind") for record in records} <= {"bad_reply", "empty_reply"}
    assert counted["read"] == {}
    assert counted["unread"] >= 2 * len(records)
    assert not [proof.reason for proof in replay_file(tmp_path / "r.jsonl") if not proof.proven]


@pytest.mark.parametrize("code", ["Cannot Be Done", "user_not_found"])
async def test_what_is_put_right_and_still_wrong_is_proven_too(tmp_path: Path, code: str) -> None:
    """The record holds the answer as it was weighed: in the form that the violations are about."""
    failed = {"outcome": "error", "error_code": code, "observation": "No.", "ops": [], "reveals": []}
    async with serving(lambda asked: json.dumps(failed)) as server:
        config = EnvConfig(ENV, simulator="llm", model="m", split="train")
        roll = Roll(load_suite(config, Resources(base_url=server.url)), tmp_path / "r.jsonl")
        await asyncio.to_thread(roll, roll.suite.load_policy("random"), episodes=6, policy="random")
    events = [event for record in roll.records for event in record.events]
    assert any(event["type"] == "rejected" for event in events)
    assert any(event.get("read") == ["case"] for event in events) is (code != "user_not_found")
    assert not [proof.reason for proof in replay_file(tmp_path / "r.jsonl") if not proof.proven]


@pytest.mark.parametrize("big", ["reads", "cannot"])
async def test_a_stronger_model_is_asked_what_cannot_be_read(oracle: OracleServer, tmp_path: Path, big: str) -> None:
    async with serving(lambda asked: WORDS) as server:
        strong = oracle.base_url if big == "reads" else server.url
        config = EnvConfig(
            ENV,
            simulator="llm",
            model="oracle",
            split="train",
            roles={"escalation": {"model": "oracle"}, "simulator": {"repairs": 1}},
        )
        suite = load_suite(config, Resources(base_url=server.url, base_urls={"escalation": strong}))
        roll = Roll(suite, tmp_path / "r.jsonl")
        await asyncio.to_thread(roll, suite.load_policy("expert"), episodes=1, policy="expert")
    (record,) = roll.records
    events = [(e["type"], e["purpose"]) for e in record.events if e["type"] in ("model", "unread")]
    routes = {e["meta"].get("route") for e in record.events if e["type"] == "transition" and e["call"]}
    if big == "reads":
        assert record.reward == 1.0
        assert events[:3] == [("unread", "answer")] * 2 + [("model", "escalation")]
        assert "escalated" in routes
    else:
        assert record.fault is not None
        assert record.fault["kind"] == "bad_reply"
        assert events == [("unread", "answer")] * 2 + [("unread", "escalation")] * 5
    assert not [proof.reason for proof in replay_file(tmp_path / "r.jsonl") if not proof.proven]
