"""The format ``openai``: chat messages and tools in OpenAI's layout, one conversation a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simia_gym.common.json_encoding import encode
from simia_gym.conversations.carried import COLUMN
from simia_gym.conversations.conversation import Conversation, facts_in, facts_of
from simia_gym.conversations.format import RowFormat
from simia_gym.conversations.messages import normal_messages, normal_tools
from simia_gym.types import JsonObject, Message

_READ = frozenset(("messages", "tools", "functions", COLUMN))
_MARKS = ("<tool_call>", "<tools>", "<tool_response>")


class OpenAIChat(RowFormat):
    """Rows with ``messages`` and ``tools``; the arguments of a call are JSON text, and may be an object when read."""

    name = "openai"
    body = ("messages", "tools")

    def fits(self, row: Any) -> bool | None:
        """Whether a row has chat messages, whose calls are no text inside of them."""
        messages = chat_messages(row)
        if not messages:
            return False
        calls = [call for message in messages for call in message.get("tool_calls") or ()]
        if calls:
            return all(isinstance(call, dict) and "function" in call for call in calls)
        return False if not row.get("tools") and any(map(has_marks, messages)) else None

    def decode(self, row: JsonObject) -> Conversation:
        """The conversation of a row."""
        return decode_chat(row)

    def encode(self, conversation: Conversation) -> JsonObject:
        """The row of a conversation."""
        messages = [_written(message) for message in conversation.messages]
        if conversation.system is not None:
            messages.insert(0, {"role": "system", "content": conversation.system})
        row: JsonObject = {"messages": messages}
        if conversation.tools:
            row["tools"] = list(conversation.tools)
        return {**row, **columns(conversation)}


def decode_chat(row: JsonObject) -> Conversation:
    """The conversation of a row with ``messages``, ``tools`` and the columns about it; for formats that resemble it.

    Raises:
        InputError: It is none; says why.
    """
    system, messages = normal_messages(row.get("messages"))
    tools = row.get("tools")
    tools = normal_tools(row.get("functions") if tools is None else tools)
    return Conversation(system=system, messages=messages, tools=tools, **facts_of(row, _READ))


def columns(conversation: Conversation) -> JsonObject:
    """The columns about a conversation; the verdict is JSON text, since tables need the same keys in all rows."""
    found = facts_in(conversation)
    if "verdict" in found:
        found["verdict"] = encode(found["verdict"]).decode()
    return {**found, **{name: value for name, value in conversation.extra.items() if name not in found}}


def chat_messages(row: Any) -> list[Message]:
    """The messages of a row if they are such as ``role`` and ``content`` say; else none."""
    messages = row.get("messages") if isinstance(row, Mapping) else None
    if not isinstance(messages, list) or not messages:
        return []
    if not all(isinstance(message, dict) and isinstance(message.get("role"), str) for message in messages):
        return []
    return messages


def has_marks(message: Mapping[str, Any], key: str = "content") -> bool:
    """Whether tools, a call or its answer stand in the text of a message."""
    content = message.get(key)
    return isinstance(content, str) and any(mark in content for mark in _MARKS)


def _written(message: Message) -> Message:
    """A message as OpenAI writes it: ``weight`` says whether to train on it, and arguments are a text."""
    if "tool_calls" not in message and "loss" not in message:
        return message
    one = {key: value for key, value in message.items() if key != "loss"}
    if "loss" in message:
        one["weight"] = int(message["loss"])
    if "tool_calls" in message:
        one["tool_calls"] = [_call(call) for call in message["tool_calls"]]
    return one


def _call(call: JsonObject) -> JsonObject:
    function = call["function"]
    return {**call, "function": {**function, "arguments": encode(function["arguments"]).decode()}}
