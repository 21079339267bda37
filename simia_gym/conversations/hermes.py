"""The format ``hermes``: calls and their answers in tags inside of texts, and the tools in the system message."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from simia_gym.actions import ToolsGrammar
from simia_gym.actions.tools_grammar import call_block
from simia_gym.common.json_encoding import decode_fast, encode
from simia_gym.conversations.carried import COLUMN
from simia_gym.conversations.conversation import Conversation, facts_of
from simia_gym.conversations.format import RowFormat
from simia_gym.conversations.messages import normal_messages, normal_tools
from simia_gym.conversations.openai_chat import chat_messages, columns, has_marks
from simia_gym.conversations.prompt import with_tools, without_tools
from simia_gym.conversations.sharegpt import BETWEEN, ROLES, turns_of
from simia_gym.conversations.text import plain, split_thoughts, with_thoughts
from simia_gym.errors import ActionError, InputError
from simia_gym.types import Calls, JsonObject, Message

_READ = frozenset(("messages", "conversations", "system", "tools", COLUMN))
_OF_TURN = frozenset(("from", "value"))
_BLOCK = re.compile(r"<tools>(.*?)</tools>", re.DOTALL)
_ANSWER, _END = "<tool_response>", "</tool_response>"
_BETWEEN = re.compile(rf"\n?{_END}\s*{_ANSWER}\n?")
_GRAMMAR = ToolsGrammar()
_DECODER = json.JSONDecoder()


class Hermes(RowFormat):
    """Rows with ``messages``, or with ``conversations`` of ``from`` and ``value`` when read."""

    name = "hermes"
    body = ("messages", "conversations", "system", "tools")

    def fits(self, row: Any) -> bool | None:
        """Whether the messages of a row have tools, calls or answers inside of their texts, and nowhere else."""
        messages = chat_messages(row)
        if messages:
            if any(message.get("tool_calls") for message in messages) or not any(map(has_marks, messages)):
                return False
            return None if row.get("tools") and not has_marks(messages[0]) else True
        turns = turns_of(row)
        if not turns or any(turn["from"] in ("function_call", "observation") for turn in turns):
            return False
        if has_marks(row, "system") or has_marks(turns[0], "value"):
            return True
        return any(has_marks(turn, "value") for turn in turns) and (None if row.get("tools") else True)

    def decode(self, row: JsonObject) -> Conversation:
        """The conversation of a row."""
        system, messages = normal_messages([*_read(_messages(row))])
        if row.get("tools"):
            tools = normal_tools(row["tools"])
            system = without_tools(system, tools)
        else:
            system, tools = _taken_apart(system) if system else (system, ())
        return Conversation(system=system, messages=messages, tools=tools, **facts_of(row, _READ))

    def encode(self, conversation: Conversation) -> JsonObject:
        """The row of a conversation."""
        return {"messages": in_text(conversation, "user", self.name), **columns(conversation)}


def in_text(conversation: Conversation, answers: str, name: str) -> list[Message]:
    """A conversation with its tools and calls inside of texts, as messages of role and content alone.

    Args:
        conversation: The conversation.
        answers: The role of what tools answer: ``user``, in tags, or ``tool``, whose tags are the template's.
        name: The format, for errors.

    Raises:
        InputError: It has a part that is no text.
    """
    system = with_tools(conversation.system, conversation.tools)
    first: list[Message] = [] if system is None else [{"role": "system", "content": system}]
    return [*first, *_written(conversation.messages, answers, name)]


def _messages(row: JsonObject) -> Sequence[Message]:
    """The messages of a row of either layout, with its system message."""
    messages: Sequence[Message] = chat_messages(row)
    turns = turns_of(row)
    if turns:
        messages = [
            {
                "role": ROLES.get(turn["from"], turn["from"]),
                "content": turn.get("value"),
                **{key: value for key, value in turn.items() if key not in _OF_TURN},
            }
            for turn in turns
        ]
    if not messages:
        raise InputError("there are no messages")
    system = row.get("system")
    if isinstance(system, str) and system:
        if messages[0]["role"] == "system" and messages[0]["content"] != system:
            raise InputError("its system and its first message are two system messages")
        if messages[0]["role"] != "system":
            return [{"role": "system", "content": system}, *messages]
    return messages


def _read(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages with calls and answers as such."""
    waiting = 0
    for number, message in enumerate(messages, start=1):
        content = message.get("content")
        if not isinstance(content, str) or message.get("tool_calls"):
            waiting = 0
            yield message
        elif message["role"] == "assistant":
            read = _calls(message, content)
            waiting = len(read.get("tool_calls") or ())
            yield read
        elif message["role"] in ("user", "tool") and waiting and _answers(message, content, waiting):
            text = content.strip() if content.strip().startswith(_ANSWER) else f"{_ANSWER}\n{content}\n{_END}"
            if not text.endswith(_END):
                raise InputError(f"message {number} opens {_ANSWER} and does not close it")
            text = text.removeprefix(_ANSWER).removesuffix(_END).removeprefix("\n").removesuffix("\n")
            parts = _BETWEEN.split(text)
            if len(parts) > waiting:
                raise InputError(f"message {number} has {len(parts)} answers to {waiting} calls")
            waiting -= len(parts)
            yield from ({**message, "role": "tool", "content": part} for part in parts)
        else:
            waiting = waiting - 1 if message["role"] == "tool" else 0
            yield message


def _answers(message: Message, content: str, waiting: int) -> bool:
    """Whether a message holds answers in tags: all of it, or those between which a template writes no tags."""
    if content.strip().startswith(_ANSWER):
        return True
    return message["role"] == "tool" and waiting > 1 and BETWEEN in content


def _calls(message: Message, content: str) -> Message:
    """An assistant's message with its calls; text that is no call as the grammar reads it stays text."""
    if "<tool_call>" not in content:
        return message
    thoughts, rest = split_thoughts(content)
    try:
        action = _GRAMMAR.parse(rest)
    except ActionError:
        return message
    if not isinstance(action, Calls):
        return message
    calls = [
        {"type": "function", "function": {"name": call.name, "arguments": decode_fast(encode(call.arguments))}}
        for call in action.calls
    ]
    read: Message = {**message, "content": action.text, "tool_calls": calls}
    return {**read, "reasoning_content": thoughts} if thoughts and not message.get("reasoning_content") else read


@lru_cache(maxsize=16)
def _taken_apart(system: str) -> tuple[str | None, tuple[JsonObject, ...]]:
    """A system message without its tools, and the tools; the conversations of a file share few of them."""
    tools = _tools_in(system)
    return without_tools(system, tools), tools


def _tools_in(system: str) -> tuple[JsonObject, ...]:
    """The tools of the first block that is not empty."""
    block = next((found[1].strip() for found in _BLOCK.finditer(system) if found[1].strip()), "")
    tools: list[Any] = []
    position = 0
    while position < len(block):
        try:
            value, end = _DECODER.raw_decode(block, position)
        except (ValueError, RecursionError):
            raise InputError("the <tools> of its system message are no JSON") from None
        tools += value if isinstance(value, list) else [value]
        position = len(block) - len(block[end:].lstrip(" \t\r\n,"))
    return normal_tools(tools)


def _written(messages: Sequence[Message], answers: str, name: str) -> Iterator[Message]:
    waiting: list[str] = []
    for place, message in enumerate(messages):
        content = plain(message, name)
        if message["role"] == "tool":
            waiting.append(content)
            if place + 1 == len(messages) or messages[place + 1]["role"] != "tool":
                text = BETWEEN.join(waiting)
                yield {"role": answers, "content": f"{_ANSWER}\n{text}\n{_END}" if answers == "user" else text}
                waiting = []
            continue
        if calls := message.get("tool_calls"):
            blocks = [call_block(call["function"]["name"], call["function"]["arguments"]) for call in calls]
            content = "\n".join([*filter(None, [content]), *blocks])
        yield {"role": message["role"], "content": with_thoughts(message, content)}
