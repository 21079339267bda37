"""Whether a trajectory has the form of a conversation: calls that its tools allow, answers to each, a proper end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import orjson

from simia_gym.actions.signatures import function_of
from simia_gym.common.formatting import shown
from simia_gym.common.json_encoding import encode
from simia_gym.common.schema_errors import json_schema_validator, most_relevant_problem
from simia_gym.trajectories.effects import readers
from simia_gym.trajectories.findings import Called, Finding, text_of
from simia_gym.types import JsonObject, Message

_MARKS = re.compile(
    r"</?tool_(?:call|response)>|<\|im_(?:start|end)\|>|</?(?:function_call|observation)>"
    r"|^(?:HUMAN|USER|ASSISTANT|FUNCTION_CALL|OBSERVATION):",
    re.MULTILINE,
)
_TIMES = 3


class Tools:
    """The tools of a conversation.

    Args:
        tools: Their declarations in OpenAI's layout.

    Attributes:
        readers: Names of those that change nothing.
    """

    def __init__(self, tools: Sequence[JsonObject]) -> None:
        self._parameters: Mapping[str, JsonObject] = {
            str(function["name"]): function.get("parameters") or {} for function in map(function_of, tools)
        }
        self.readers = readers(tools)
        self._validators = {name: json_schema_validator(schema) for name, schema in self._parameters.items()}

    def problem(self, call: Called) -> Finding | None:
        """What is wrong with a call, if anything."""
        if call.name not in self._validators:
            return Finding("unknown_tool", call.place, f"there is no tool {call.name!r}")
        if self._validators[call.name].is_valid(call.arguments):
            return None
        why = most_relevant_problem(self._parameters[call.name], call.arguments)
        return Finding("invalid_arguments", call.place, f"{call.name}: {why}")


def tools_of(tools: Sequence[JsonObject]) -> Tools:
    """The tools of a conversation, made once for those that are equal."""
    return _made(encode(list(tools)))


@lru_cache(maxsize=64)
def _made(tools: bytes) -> Tools:
    return Tools(orjson.loads(tools))


def form_findings(messages: Sequence[Message], calls: Sequence[Called], tools: Tools) -> Iterator[Finding]:
    """What is wrong with the form of a trajectory, in the order of its kinds."""
    roles = [message["role"] for message in messages if message["role"] != "system"]
    if "assistant" not in roles or roles[0] not in ("user", "tool"):
        yield Finding("no_message", 0, "it begins with the agent, or has no message of it")
        return
    for call in calls:
        problem = tools.problem(call)
        if problem is not None:
            yield problem
    yield from _pairs(messages, calls)
    yield from _marks(messages)
    yield from _repeated(messages)
    last = messages[-1]
    if last["role"] != "assistant" or last.get("tool_calls") or not text_of(last).strip():
        yield from _ended(messages, calls)


def _ended(messages: Sequence[Message], calls: Sequence[Called]) -> Iterator[Finding]:
    """A trajectory ends with the agent's words, with a farewell to them, or with the answer of its last call."""
    last, place = messages[-1], len(messages) - 1
    if last["role"] == "tool" and calls and calls[-1].answered == place:
        return
    if last["role"] == "user" and place > 1 and messages[place - 1]["role"] == "assistant" and text_of(last).strip():
        return
    yield Finding("no_answer", place, f"it ends with a message of the {last['role']}")


def _pairs(messages: Sequence[Message], calls: Sequence[Called]) -> Iterator[Finding]:
    answered = {call.answered for call in calls}
    for call in calls:
        if call.answered < 0:
            yield Finding("unanswered_call", call.place, f"{call.name} has no observation")
    for place, message in enumerate(messages):
        if message["role"] != "tool":
            continue
        if place not in answered:
            yield Finding("unasked_observation", place, "no call asked for it")
        elif not text_of(message).strip():
            yield Finding("empty_observation", place, "it has no text")


def _marks(messages: Sequence[Message]) -> Iterator[Finding]:
    for place, message in enumerate(messages):
        if message["role"] in ("user", "assistant"):
            found = _MARKS.search(text_of(message))
            if found is not None:
                yield Finding("marker_in_text", place, f"it holds {found.group()!r}")


def _repeated(messages: Sequence[Message]) -> Iterator[Finding]:
    """The agent does the same again and again, and is answered the same."""
    same, before = 1, None
    for place, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        answer = text_of(messages[place + 1]) if place + 1 < len(messages) else None
        done = _said(message), answer
        same = same + 1 if done == before else 1
        before = done
        if same == _TIMES:
            yield Finding(
                "repeats_itself", place, f"{shown(done[0], 60)} for the third time in a row, answered the same"
            )


def _said(message: Message) -> str:
    made = [[call["function"]["name"], call["function"]["arguments"]] for call in message.get("tool_calls") or ()]
    return encode(made).decode() if made else text_of(message).strip()
