"""From a record to every format and back it is the same conversation, whatever happened in the episode."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import atif

from simia_gym.actions import Grammar
from simia_gym.conversations import (
    Conversation,
    detect_format,
    formats,
    read_conversations,
    write_conversations,
)
from simia_gym.errors import Fault
from simia_gym.policies import Policy
from simia_gym.record.records import read_records
from simia_gym.types import Calls, Message, PolicyAction, ToolCall

from ..rollout.conftest import Roll
from .table import World

PARQUET = ("trl", "verl")
"""Formats that need pyarrow, which is not among what these tests install; those of training hold them."""


class Wild:
    """Thinks, calls in parallel, writes what is no action, has fields of its provider, and ends with a fault."""

    def __init__(self, tool: str, grammar: Grammar, first: str) -> None:
        self.actions = self._all(tool, grammar, first)

    @staticmethod
    def _all(tool: str, grammar: Grammar, first: str) -> Iterator[PolicyAction]:
        yield f"<think>\nFirst I look.\n</think>\n\n{first}"
        if grammar.observation_role == "tool":
            calls = Calls((ToolCall(tool, {"a": 2**70, "b": "</tool_call>"}, "x"), ToolCall(tool, {"a": [1.0]}, "y")))
            yield "<think>two</think>" + grammar.render(calls)
        yield "<tool_call>oops"
        yield "<tool_response>\nI wrote this.\n</tool_response>"
        call = {
            "id": "own",
            "type": "function",
            "function": {"name": tool, "arguments": "{}"},
            "extra_content": {"s": 1},
        }
        yield {"role": "assistant", "content": "So.", "reasoning_content": " Hm. ", "tool_calls": [call]}
        broken = {"id": "z", "type": "function", "function": {"name": tool, "arguments": "{"}}
        yield {"role": "assistant", "content": None, "tool_calls": [broken, {**broken, "id": "zz"}]}
        raise Fault("timeout", "no answer", "policy")

    def act(self, messages: Sequence[Message]) -> PolicyAction:
        return next(self.actions)


def test_a_record_is_the_same_in_every_format_and_back(registered: World, tmp_path: Path) -> None:
    suite = registered.suite(None, split="train", simulator="world", max_turns=12)
    grammar, tools = suite.domain.grammar, suite.domain.tools

    def wild() -> Policy:
        talks = grammar.observation_role == "tool"
        first = "What do you need?" if talks else grammar.sample(random.Random(0), tools, (), ())
        return Wild(tools[0]["function"]["name"], grammar, first)

    made: dict[str, Callable[[], Policy]] = {name: suite.load_policy(name) for name in ("expert", "random", "null")}
    known: list[Conversation] = []
    for name, make in {**made, "wild": wild}.items():
        roll = Roll(suite, tmp_path / f"{name}.jsonl")
        roll(make, episodes=1, policy=name)
        (read,) = read_conversations(roll.path)
        assert isinstance(read, Conversation)
        known.append(read)
        (record,) = read_records(roll.path)
        assert read.reward == record.reward
        said = [message for message in read.messages if message["role"] == "assistant"]
        assert len(said) == record.turns
    assert (known[-1].reward, known[-1].valid) == (None, False)
    assert known[-1].messages[1]["reasoning_content"] == "First I look."
    assert "First I look." not in known[-1].messages[1]["content"]
    assert "oops" in str(known[-1].messages)
    assert (len(known[0].tools) > 0) == (grammar.observation_role == "tool")
    assert "<tools>" not in (known[0].system or "")
    for name, each in formats().items():
        if each.writes and name not in PARQUET:
            path = tmp_path / f"out.{name}"
            assert write_conversations(path, known, name) == len(known)
            back = list(read_conversations(path, name))
            assert back == known, name
            rows = path.read_text(encoding="utf-8").splitlines()
            assert '"simia":' not in rows[0], f"{name} holds all that an expert does"
            for row in rows if name == "atif" else ():
                assert atif.Trajectory.model_validate_json(row).to_json_dict() == json.loads(row)
            if known[0].tools:
                assert detect_format(path).name == name
