"""Converts a transcript into messages that OpenAI-compatible servers accept.

Keys of this package are removed, and arguments of tool calls become JSON strings. A ``tool`` message that answers no
call of the preceding assistant message becomes a ``user`` message. A tool call without a result is left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from simia_gym.types import JsonObject, Message

_ROLES = frozenset(("system", "developer", "user", "assistant", "tool"))


def openai_messages(messages: Sequence[Message]) -> list[JsonObject]:
    """Copy a transcript in the form that servers accept.

    Args:
        messages: The transcript; messages may have extra keys.

    Returns:
        New messages; the given ones are not changed.
    """
    result: list[JsonObject] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        role = message.get("role")
        if role != "assistant":
            result.append({"role": role if role in _ROLES and role != "tool" else "user", "content": _text(message)})
            continue
        answers: list[Message] = []
        while position < len(messages) and messages[position].get("role") == "tool":
            answers.append(messages[position])
            position += 1
        result.extend(_turn(message, answers))
    return result


def one_call(messages: Sequence[Message]) -> tuple[JsonObject, JsonObject] | None:
    """A fast path of `openai_messages` for the most common turn: one tool call and its result.

    Args:
        messages: Part of a transcript.

    Returns:
        The two messages; ``None`` if the part is not such a turn.
    """
    if len(messages) != 2:
        return None
    said, answer = messages
    listed, content, shown = said.get("tool_calls"), said.get("content"), answer.get("content")
    if said.get("role") != "assistant" or answer.get("role") != "tool" or not isinstance(listed, list):
        return None
    if len(listed) != 1 or type(shown) is not str or not (content is None or type(content) is str):
        return None
    call = listed[0]
    made, function = call.get("id"), call.get("function")
    if type(made) is not str or answer.get("tool_call_id") != made or not function:
        return None
    name, arguments = function.get("name"), function.get("arguments")
    if type(name) is not str or type(arguments) is not str:
        return None
    calls = [{"id": made, "type": "function", "function": {"name": name, "arguments": arguments}}]
    turn: JsonObject = {"role": "assistant", "content": content or None, "tool_calls": calls}
    return turn, {"role": "tool", "tool_call_id": made, "content": shown}


def _turn(message: Message, answers: Sequence[Message]) -> list[JsonObject]:
    """Convert an assistant message and the tool messages after it."""
    listed = message.get("tool_calls") if answers else None
    calls: list[JsonObject] = []
    if isinstance(listed, list):
        answered = [answer.get("tool_call_id") for answer in answers]
        calls = [_call(item) for item in listed if item.get("id") is not None and item["id"] in answered]
    known = [call["id"] for call in calls]
    turn: JsonObject = {"role": "assistant", "content": _text(message) or (None if calls else "")}
    if calls:
        turn["tool_calls"] = calls
    result, loose = [turn], []
    # Servers require that the results of all calls directly follow the assistant message.
    for answer in answers:
        content, call_id = _text(answer), answer.get("tool_call_id")
        if call_id in known:
            result.append({"role": "tool", "tool_call_id": call_id, "content": content})
        else:
            loose.append({"role": "user", "content": content})
    return result + loose


def _call(item: JsonObject) -> JsonObject:
    function: Any = item.get("function") or {}
    arguments = function.get("arguments", "{}")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    name = str(function.get("name", ""))
    return {"id": item["id"], "type": "function", "function": {"name": name, "arguments": arguments}}


def _text(message: Message) -> Any:
    content = message.get("content")
    return "" if content is None else content
