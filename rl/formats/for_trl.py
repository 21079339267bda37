"""The format ``trl``: Parquet for the trainers of TRL, conversational with tools.

Chat templates want the arguments of a call as an object, as TRL's documentation has them. Each message stands in a
column of JSON, which ``datasets`` gives back as it was, without nulls; the tools are a JSON text, which TRL decodes.
"""

from __future__ import annotations

from typing import Any

from simia_gym.common.json_encoding import encode
from simia_gym.conversations.conversation import Conversation
from simia_gym.conversations.openai_chat import OpenAIChat
from simia_gym.conversations.text import plain
from simia_gym.errors import InputError
from simia_gym.rl.extras import require
from simia_gym.rl.formats.parquet_format import ParquetFormat
from simia_gym.types import JsonObject, Message

_KEPT = ("role", "content", "reasoning_content", "tool_calls", "tool_call_id", "name")


class TrlRows(ParquetFormat, OpenAIChat):
    """Rows with ``messages`` and ``tools`` beside them."""

    name = "trl"

    def columns(self, pyarrow: Any) -> JsonObject:
        """The messages as JSON, and the tools as a text."""
        return {"messages": pyarrow.list_(pyarrow.json_()), "tools": pyarrow.string()}

    def stored(self, row: JsonObject) -> JsonObject:
        """The row with its messages as JSON texts.

        Raises:
            InputError: A number in a call is another one after its way through ``datasets``.
        """
        for message in row["messages"]:
            for call in message.get("tool_calls", ()):
                _check(call["function"])
        return {**row, "messages": [encode(message).decode() for message in row["messages"]]}

    def encode(self, conversation: Conversation) -> JsonObject:
        """The row of a conversation."""
        messages = [_written(message) for message in conversation.messages]
        if conversation.system is not None:
            messages.insert(0, {"role": "system", "content": conversation.system})
        row: JsonObject = {"messages": messages, **self.facts(conversation)}
        if conversation.tools:
            row["tools"] = encode(conversation.tools).decode()
        return row


def _written(message: Message) -> Message:
    plain(message, TrlRows.name)
    return {name: message[name] for name in _KEPT if name in message}


def _check(function: JsonObject) -> None:
    require("trl", "datasets", place="the format trl")
    from datasets import Json

    given, kind = function["arguments"], Json()
    try:
        read = kind.decode_example(kind.encode_example(given))
    except ValueError as error:
        read = error
    if read != given:
        what = f"{function['name']} is called with {encode(given).decode()}"
        raise InputError(f"{what}, which `datasets` reads as {read}")
