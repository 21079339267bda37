"""The format ``sharegpt``: turns with ``from`` and ``value``, as APIGen-MT, AgentTuning and LLaMA-Factory have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from simia_gym.common.json_encoding import decode_fast, encode
from simia_gym.conversations.carried import COLUMN
from simia_gym.conversations.conversation import Conversation, facts_of
from simia_gym.conversations.format import RowFormat
from simia_gym.conversations.messages import normal_messages, normal_tools
from simia_gym.conversations.openai_chat import columns, has_marks
from simia_gym.conversations.text import plain, split_thoughts, with_thoughts
from simia_gym.errors import InputError
from simia_gym.types import JsonObject, Message

BETWEEN = "\n</tool_response>\n<tool_response>\n"
"""What stands between the answers to calls of one turn, which are one observation."""
ROLES = {
    "system": "system",
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "assistant", "model"), "assistant"),
    "function_call": "call",
    **dict.fromkeys(("observation", "tool"), "tool"),
}
_READ = frozenset(("conversations", "system", "tools", COLUMN))
_OF_TURN = frozenset(("from", "value", "loss"))


class ShareGPT(RowFormat):
    """Rows with ``conversations``, ``system`` and ``tools``; a call is a turn of its own, as JSON."""

    name = "sharegpt"
    body = ("conversations", "system", "tools")

    def fits(self, row: Any) -> bool | None:
        """Whether a row has turns, whose calls are turns of their own."""
        turns = turns_of(row)
        if any(turn["from"] in ("function_call", "observation") for turn in turns):
            return True
        if not turns or has_marks(row, "system") or has_marks(turns[0], "value"):
            return False
        return False if not row.get("tools") and any(has_marks(turn, "value") for turn in turns) else None

    def decode(self, row: JsonObject) -> Conversation:
        """The conversation of a row."""
        turns = turns_of(row)
        if not turns:
            raise InputError("there are no conversations with 'from' and 'value'")
        told, messages = normal_messages([*_messages(turns)])
        system = row.get("system")
        if system is not None and not isinstance(system, str):
            raise InputError("its system is no text")
        if system and told and system != told:
            raise InputError("its system and its first turn are two system messages")
        return Conversation(
            system=told if system is None else system,
            messages=messages,
            tools=normal_tools(row.get("tools")),
            **facts_of(row, _READ),
        )

    def encode(self, conversation: Conversation) -> JsonObject:
        """The row of a conversation."""
        row: JsonObject = {"conversations": [*_turns(conversation.messages)]}
        if conversation.system is not None:
            row["system"] = conversation.system
        if conversation.tools:
            row["tools"] = encode([tool["function"] for tool in conversation.tools]).decode()
        return {**row, **columns(conversation)}


def turns_of(row: Any) -> list[JsonObject]:
    """The turns of a row if they are such as ``from`` and ``value`` say; else none."""
    turns = row.get("conversations") if isinstance(row, dict) else None
    if not isinstance(turns, list) or not all(isinstance(turn, dict) and "from" in turn for turn in turns):
        return []
    return turns


def _messages(turns: Sequence[JsonObject]) -> Iterator[Message]:
    calls = 0
    for number, turn in enumerate(turns, start=1):
        role, value = ROLES.get(turn["from"]), turn.get("value")
        if role is None:
            raise InputError(f"turn {number} is from {turn['from']!r}")
        more = {key: each for key, each in turn.items() if key not in _OF_TURN and each is not None}
        if isinstance(turn.get("loss"), bool):
            more["loss"] = turn["loss"]
        if role == "call":
            thoughts, listed = _calls(value, number)
            calls = len(listed)
            yield {"role": "assistant", "reasoning_content": thoughts, "tool_calls": listed, **more}
            continue
        if not isinstance(value, str):
            raise InputError(f"the value of turn {number} is no text")
        parts = value.split(BETWEEN) if role == "tool" and calls > 1 else [value]
        for part in parts:
            yield {"role": role, "content": part, **more}
        calls = max(0, calls - len(parts)) if role == "tool" else 0


def _calls(value: Any, number: int) -> tuple[str, list[Any]]:
    """The thoughts and the calls of a turn."""
    thoughts = ""
    if isinstance(value, str):
        thoughts, value = split_thoughts(value)
        try:
            value = decode_fast(value)
        except (ValueError, RecursionError):
            raise InputError(f"turn {number} is a call that is no JSON") from None
    return thoughts, value if isinstance(value, list) else [value]


def _turns(messages: Sequence[Message]) -> Iterator[JsonObject]:
    place = 0
    while place < len(messages):
        message = messages[place]
        more = {"loss": message["loss"]} if "loss" in message else {}
        place += 1
        if message.get("tool_calls"):
            calls = [call["function"] for call in message["tool_calls"]]
            shown = [{"name": call["name"], "arguments": call["arguments"]} for call in calls]
            value = encode(shown[0] if len(shown) == 1 else shown).decode()
            yield {"from": "function_call", "value": with_thoughts(message, value), **more}
        elif message["role"] == "tool":
            answers = [plain(message, "sharegpt")]
            while place < len(messages) and messages[place]["role"] == "tool":
                answers.append(plain(messages[place], "sharegpt"))
                place += 1
            # One turn for all answers, unless it could not be taken apart.
            parts = answers if any(BETWEEN in each for each in answers) else [BETWEEN.join(answers)]
            yield from ({"from": "observation", "value": part, **more} for part in parts)
        else:
            name = {"user": "human", "assistant": "gpt"}.get(message["role"], message["role"])
            yield {"from": name, "value": with_thoughts(message, plain(message, "sharegpt")), **more}
