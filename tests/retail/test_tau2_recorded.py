"""Recorded episodes run again: small ones that are made here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simia_gym.envs._tau2.recorded import read_recordings, same_database, verify
from simia_gym.envs.retail.build import load_tables
from simia_gym.envs.retail.world import RetailWorld
from simia_gym.errors import InputError
from simia_gym.state import State
from simia_gym.types import JsonObject, ToolCall

BASE = State.from_tables(load_tables())
WORLD = RetailWorld({"compat": "tau2"})
PENDING = next(key for key, row in BASE.rows("orders") if row["status"] == "pending")
CANCEL = {"name": "cancel_pending_order", "arguments": {"order_id": PENDING, "reason": "no longer needed"}}
LOOK = {"name": "get_order_details", "arguments": {"order_id": PENDING}}
WRONG = {"name": "get_order_details", "arguments": {"order": PENDING}}


def record(calls: list[JsonObject], **fields: Any) -> JsonObject:
    """An episode in which each call is answered as the world answers it."""
    state, messages = BASE, [{"role": "assistant", "content": "Hi! How can I help you today?"}]
    for number, call in enumerate(calls):
        transition = WORLD.call(state, ToolCall(call["name"], call["arguments"]))
        state = transition.state or state
        messages.append({"role": "assistant", "content": None, "tool_calls": [{"id": f"c{number}", **call}]})  # type: ignore[dict-item]
        messages.append({"role": "tool", "content": transition.observation, "tool_call_id": f"c{number}"})
    messages.append({"role": "assistant", "content": "That is $1,234.50 for the LAMP."})
    return {"id": "e", "messages": messages, "reward": 1.0, "gold_actions": [CANCEL], **fields}


def run(tmp_path: Path, *episodes: JsonObject) -> JsonObject:
    file = tmp_path / "rollouts.jsonl"
    file.write_text("".join(json.dumps(episode) + "\n" for episode in episodes))
    return verify(WORLD, BASE, file)


def outcome(tmp_path: Path, episode: JsonObject) -> tuple[int, int, int]:
    found = run(tmp_path, episode)
    return found["outcome_checked"], found["outcome_agree"], found["outcome_unknown"]


def test_answers_are_compared(tmp_path: Path) -> None:
    found = run(tmp_path, record([WRONG, LOOK, CANCEL, LOOK]), record([CANCEL]))
    assert (found["pairs"], found["identical"], found["episodes"]) == (5, 5, 2)
    assert (found["outcome_checked"], found["outcome_agree"]) == (2, 2)
    episode = record([LOOK, CANCEL])
    episode["messages"][2]["content"] = "{}"
    found = run(tmp_path, episode)
    assert (found["pairs"], found["mismatches"]) == (2, 1)
    shown = found["first_mismatches"][0]
    assert (shown["episode"], shown["call"], shown["expected"]) == ("e", LOOK, "{}")
    assert shown["got"].startswith('{"order_id"')


@pytest.mark.parametrize("by_id", [True, False])
def test_several_calls_in_one_message(tmp_path: Path, by_id: bool) -> None:
    one, two = record([LOOK])["messages"][1:3], record([WRONG])["messages"][1:3]
    calls = [{**one[0]["tool_calls"][0], "id": "a"}, {**two[0]["tool_calls"][0], "id": "b"}]
    answers = [{"role": "tool", "content": one[1]["content"]}, {"role": "tool", "content": two[1]["content"]}]
    if by_id:
        answers = [{**answers[1], "tool_call_id": "b"}, {**answers[0], "tool_call_id": "a"}]
    messages = [{"role": "assistant", "content": "", "tool_calls": calls}, *answers]
    assert run(tmp_path, {**record([]), "messages": messages})["identical"] == 2


def test_calls_in_openais_layout_and_calls_without_an_answer(tmp_path: Path) -> None:
    episode = record([LOOK])
    arguments = json.dumps(LOOK["arguments"])
    function = {"name": LOOK["name"], "arguments": arguments}
    episode["messages"][1]["tool_calls"] = [{"id": "c0", "type": "function", "function": function}]
    episode["messages"].append({"role": "assistant", "content": None, "tool_calls": [{"id": "z", **CANCEL}]})
    found = run(tmp_path, episode)
    assert (found["pairs"], found["identical"]) == (1, 1)
    assert outcome(tmp_path, {**episode, "reward": 0.0}) == (1, 1, 0)


@pytest.mark.parametrize(
    ("fields", "reward"),
    [
        ({}, 1.0),
        ({"gold_actions": [LOOK]}, 0.0),
        ({"gold_actions": [WRONG, CANCEL]}, 1.0),
        ({"communicate_info": ["1234.5", "lamp"]}, 1.0),
        ({"communicate_info": ["1,234.50"]}, 0.0),
        ({"communicate_info": ["desk"]}, 0.0),
        ({"outputs": ["Lamp"]}, 1.0),
        ({"termination": "agent_stop"}, 1.0),
        ({"termination": None}, 1.0),
        ({"termination": "max_steps"}, 0.0),
    ],
)
def test_outcomes(tmp_path: Path, fields: JsonObject, reward: float) -> None:
    assert outcome(tmp_path, record([CANCEL], reward=reward, **fields)) == (1, 1, 0)
    assert outcome(tmp_path, record([CANCEL], reward=1.0 - reward, **fields)) == (1, 0, 0)


@pytest.mark.parametrize(
    ("calls", "db_match", "reward", "expected"),
    [
        ([LOOK], True, 1.0, (1, 1, 0)),
        ([CANCEL], False, 0.0, (1, 1, 0)),
        ([CANCEL], True, 1.0, (0, 0, 1)),
        ([LOOK], False, 0.0, (0, 0, 1)),
        ([LOOK], None, 1.0, (1, 1, 0)),
        ([CANCEL], None, 1.0, (0, 0, 1)),
        ([LOOK], True, 0.0, (1, 0, 0)),
        ([LOOK], True, None, (0, 0, 1)),
    ],
)
def test_an_empty_list_of_gold_actions(
    tmp_path: Path, calls: list[JsonObject], db_match: bool | None, reward: float | None, expected: tuple[int, int, int]
) -> None:
    assert outcome(tmp_path, record(calls, gold_actions=[], db_match=db_match, reward=reward)) == expected


def test_databases_are_compared_as_they_are_written() -> None:
    def priced(value: float) -> State:
        return BASE.apply([{"op": "replace", "path": f"/orders/{PENDING}/exchange_price_difference", "value": value}])

    assert same_database(priced(0), priced(0))
    assert not same_database(priced(0), priced(0.0))
    assert same_database(BASE.apply([{"op": "add", "path": "/_clock/now", "value": {"t": 1}}]), BASE)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", ":1:2: not valid JSON"),
        ("[]", ":1: is no recorded episode"),
        ("{}", ":1: messages"),
        ('{"messages": [], "gold_actions": [1]}', ":1: gold_actions[0]"),
        ('{"messages": [], "reward": "1"}', ":1: reward"),
        ('{"messages": [{"role": "tool", "content": ""}]}', ":1: message 0"),
        ('{"messages": [{"role": "assistant", "tool_calls": [{}]}]}', ":1: messages[0].tool_calls[0].name"),
        (
            '{"messages": [{"tool_calls": [{"name": "x", "arguments": "{"}]}]}',
            ":1: messages[0].tool_calls[0].arguments",
        ),
        (
            '{"messages": [{"tool_calls": [{"name": "x", "arguments": [1]}]}]}',
            ":1: messages[0].tool_calls[0].arguments",
        ),
    ],
)
def test_broken_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text(line)
    with pytest.raises(InputError) as caught:
        list(read_recordings(file))
    assert message in str(caught.value)
    assert "arguments" not in message or "more)" not in str(caught.value), "one mistake is named once"


@pytest.mark.parametrize(
    "call",
    [
        {"id": "c", "name": "x", "arguments": {"a": 1}},
        {"id": "c", "name": "x", "arguments": '{"a": 1}'},
        {"id": "c", "name": None, "function": {"name": "x", "arguments": '{"a": 1}'}},
    ],
)
def test_a_call_is_read_in_every_form(tmp_path: Path, call: JsonObject) -> None:
    file = tmp_path / "r.jsonl"
    messages = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": None, "content": ""},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]
    file.write_text(json.dumps({"id": "1", "messages": messages}))
    ((_, answered),) = read_recordings(file)
    assert answered == [(ToolCall("x", {"a": 1}, "c"), "ok")]
