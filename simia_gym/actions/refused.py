"""The calls of an action that was refused, in the form in which chat APIs take them back, each with an answer.

A chat API refuses a conversation in which a call of the assistant has no answer with its id, or in which the arguments
of a call are no JSON. So the calls of a message that cannot be read are shown with what could be read of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from simia_gym.actions.calls import call_from, text_of
from simia_gym.actions.thinking import strip_thinking
from simia_gym.errors import ActionError, InputError
from simia_gym.types import Calls, JsonObject, Message, ToolCall

MOST_CALLS = 128
"""The most calls that are answered one by one; chat APIs take no more in one message."""

_NOT_RUN = "Error: not run; the answer to the first call of the message says why."
_NOT_SHOWN = ("name", "id", "call_id", "type")


def refused_calls(text: str) -> Calls | None:
    """The calls of an assistant message that could not be read.

    Args:
        text: The canonical text of the action.

    Returns:
        The calls. Arguments that could not be read stand as a text under the key ``invalid_arguments``. ``None`` if
        the text is no message with calls.
    """
    if not text.startswith("{"):
        return None
    try:
        message = json.loads(text)
        json.dumps(message, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("role", "assistant") != "assistant":
        return None
    listed, content = message.get("tool_calls"), message.get("content")
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST_CALLS:
        return None
    if not all(isinstance(item, dict) for item in listed):
        return None
    return Calls(tuple(_shown(item) for item in listed), strip_thinking(_said(content)).strip())


def refusals(calls: Sequence[ToolCall], text: str, code: str) -> list[Message]:
    """The messages that answer refused calls, which have ids, one a call; the first one says what was wrong."""
    return [
        {
            "role": "tool",
            "tool_call_id": call.id,
            "name": call.name,
            "content": _NOT_RUN if number else text,
            "error_code": code,
        }
        for number, call in enumerate(calls)
    ]


def _shown(item: JsonObject) -> ToolCall:
    try:
        return call_from(item, lenient=True)
    except (ActionError, InputError):
        pass
    inner = item.get("function")
    function = inner if isinstance(inner, dict) else item
    name, call_id, arguments = function.get("name"), item.get("id"), function.get("arguments")
    if not isinstance(arguments, str) or not arguments.strip():
        arguments = json.dumps({key: value for key, value in function.items() if key not in _NOT_SHOWN})
    return ToolCall(
        name if isinstance(name, str) and name.strip() else "unnamed",
        {"invalid_arguments": arguments},
        call_id if isinstance(call_id, str) and call_id.strip() else None,
    )


def _said(content: Any) -> str:
    if isinstance(content, str):
        return content
    try:
        return text_of(content)
    except ActionError:
        return ""
