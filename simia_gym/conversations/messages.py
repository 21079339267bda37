"""Brings chat messages of all spellings into the one layout of a `Conversation`, or says why they are none.

Nothing is guessed: what is not told here is an error. Null stands for an absent key. A call without id gets one of its
place; a tool message without id answers the first call of the turn that has no answer, and that of its name if it says
one. Thinking goes from the beginning of a text, from parts and from other keys to ``reasoning_content``.
"""

from __future__ import annotations

from typing import Any

from simia_gym.actions.assistant import ARGUMENTS
from simia_gym.actions.calls import call_from
from simia_gym.common.json_encoding import decode_fast, encode
from simia_gym.conversations.text import split_thoughts
from simia_gym.errors import ActionError, InputError
from simia_gym.types import JsonObject, Message

_SYSTEM = ("system", "developer")
_READ = frozenset(("role", "content", "tool_calls", "function_call", "reasoning_content"))
_OF_TOOL = frozenset(("role", "content", "tool_call_id", "name"))
_OF_CALL = frozenset(("id", "type", "function"))
_OF_FUNCTION = frozenset(("name", "arguments"))
_NONE = ("", "null")
_FLAT = _OF_CALL | {"name", *ARGUMENTS}
_THOUGHTS = {"thinking": "thinking", "reasoning": "text"}
"""Parts that only think, with the key of their text."""


def normal_messages(given: Any) -> tuple[str | None, tuple[Message, ...]]:
    """The system message and the other messages in the layout of a `Conversation`.

    Raises:
        InputError: They are no conversation; names the message by its number, from 1.
    """
    if not isinstance(given, list) or not given:
        raise InputError("there are no messages")
    system: str | None = None
    found: list[Message] = []
    waiting: list[tuple[str, str]] = []
    turn = unnamed = 0
    for number, message in enumerate(given, start=1):
        if not isinstance(message, dict):
            raise InputError(f"message {number} is no object")
        role = message.get("role")
        if waiting and unnamed and role not in ("tool", "function"):
            raise InputError(f"before message {number}, calls have no answer, and no id says which of them")
        if role == "assistant":
            unnamed = 0
            turn += 1
            one = _assistant(message, number, turn)
            waiting = [(call["id"], call["function"]["name"]) for call in one.get("tool_calls", ())]
        elif role in ("tool", "function"):
            one = _tool(message, number, waiting)
            unnamed += message.get("tool_call_id") is None
        elif role == "user" or role in _SYSTEM:
            if message.get("tool_calls"):
                raise InputError(f"message {number} of the role {role!r} calls tools, and only an assistant can")
            content, _ = _content(message, number)
            if number == 1 and role != "user" and isinstance(content, str):
                system = content
                continue
            one = {"role": "user" if role == "user" else "system", "content": content, **_others(message, _READ)}
        else:
            raise InputError(f"message {number} has the role {role!r}")
        found.append(one)
    return system, tuple(found)


def normal_tools(given: Any) -> tuple[JsonObject, ...]:
    """Tools as OpenAI function schemas, from a list of them or of bare functions, or the JSON text of one.

    Raises:
        InputError: They are no such list, or one has no name.
    """
    if isinstance(given, str):
        if given.strip() in _NONE:
            return ()
        try:
            given = decode_fast(given)
        except (ValueError, RecursionError):
            raise InputError("its tools are a text that is no JSON") from None
    if given is None:
        return ()
    if not isinstance(given, list):
        raise InputError("its tools are no list")
    tools = []
    for number, tool in enumerate(given, start=1):
        function = tool.get("function", tool) if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise InputError(f"tool {number} is no function with a name")
        tools.append(tool if function is not tool else {"type": "function", "function": tool})
    return tuple(tools)


def _others(message: Message, read: frozenset[str]) -> JsonObject:
    """What else a message has; null is nothing."""
    if len(message) == 2:
        return {}
    return {key: value for key, value in message.items() if key not in read and value is not None}


def _content(message: Message, number: int) -> tuple[Any, list[str]]:
    """The text of a message and its thoughts; a list of parts if one of them is no text."""
    content = message.get("content")
    if type(content) is str:
        return content, []
    if content is None:
        return "", []
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise InputError(f"the content of message {number} is neither a text nor a list of parts")
    thoughts: list[str] = []
    parts: list[JsonObject] = []
    for part in content:
        thought = part.get(_THOUGHTS.get(part.get("type", ""), ""))
        if isinstance(thought, str):
            thoughts.append(thought)
        else:
            parts.append(part)
    texts = [part.get("text") if part.get("type") in ("text", "output_text", "input_text") else None for part in parts]
    if all(isinstance(text, str) for text in texts):
        return "".join(filter(None, texts)), thoughts
    return parts, thoughts


def _assistant(message: Message, number: int, turn: int) -> Message:
    content, thoughts = _content(message, number)
    one: Message = {"role": "assistant", "content": content}
    reasoning = message.get("reasoning_content")
    other = "" if reasoning is not None else message.get("reasoning")
    if reasoning is None and isinstance(other, str):
        reasoning = other
    if not reasoning and thoughts:
        reasoning = "\n\n".join(thoughts)
    elif not reasoning and type(content) is str:
        reasoning, one["content"] = split_thoughts(content)
    if reasoning:
        if not isinstance(reasoning, str):
            raise InputError(f"the reasoning of message {number} is no text")
        one["reasoning_content"] = reasoning
    listed = message.get("tool_calls")
    if not listed and message.get("function_call") is not None:
        listed = [message["function_call"]]
    if listed:
        if not isinstance(listed, list):
            raise InputError(f"the tool_calls of message {number} are no list")
        one["tool_calls"] = [_call(item, place, number, turn) for place, item in enumerate(listed)]
    if len(message) > 2:
        for key, value in message.items():
            if value is None or key in _READ or (key == "reasoning" and value == reasoning):
                continue
            if key == "weight" and value in (0, 1):  # OpenAI's name for what others call loss
                one["loss"] = bool(value)
            else:
                one[key] = value
    return one


def _call(item: Any, place: int, number: int, turn: int) -> JsonObject:
    """One call, with its arguments as an object and an id."""
    function = item.get("function", item) if isinstance(item, dict) else {}
    if not isinstance(function, dict):
        function = {}
    name, arguments = function.get("name"), function.get("arguments")
    if type(arguments) is str and arguments.strip() not in _NONE:
        try:
            arguments = decode_fast(arguments)
        except (ValueError, RecursionError):
            what = f"call {place + 1} of message {number} has arguments that are a text and no JSON"
            raise InputError(what) from None
    if type(arguments) is not dict or not isinstance(name, str) or not name.strip():
        try:
            read = call_from(item, lenient=True)
        except ActionError as error:
            said = error.message.partition(" A valid tool call looks like this")[0]
            raise InputError(f"call {place + 1} of message {number} cannot be read: {said}") from None
        name, arguments = read.name, decode_fast(encode(read.arguments))
    call_id = item.get("id")
    if call_id is None:
        call_id = item.get("call_id")
    if not isinstance(call_id, str) or not call_id:
        call_id = f"call_{turn}_{place}"
    call: JsonObject = {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
    if function is item:
        call |= {key: value for key, value in item.items() if key not in _FLAT and key != "call_id"}
    elif len(item) > 3 or len(function) > 2:
        call |= {key: value for key, value in item.items() if key not in _OF_CALL and value is not None}
        call["function"] |= {key: value for key, value in function.items() if key not in call["function"]}
    return call


def _tool(message: Message, number: int, waiting: list[tuple[str, str]]) -> Message:
    """The answer to one of the calls that wait."""
    content, thoughts = _content(message, number)
    call_id, name = message.get("tool_call_id"), message.get("name")
    if call_id is None:
        fitting = [call for call in waiting if name is None or call[1] == name]
        if not fitting:
            what = "a call" if name is None else f"a call of {name!r}"
            raise InputError(f"message {number} is the answer of a tool, and {what} does not stand open before it")
    else:
        fitting = [call for call in waiting if call[0] == call_id]
        if not fitting:
            raise InputError(f"message {number} answers the call {call_id!r}, which does not stand open before it")
    found = fitting[0]
    waiting.remove(found)
    one: Message = {"role": "tool", "tool_call_id": found[0], "name": name or found[1], "content": content}
    others = _others(message, _OF_TOOL) if len(message) > 4 or call_id is None or name is None else {}
    if thoughts:
        others["thoughts"] = thoughts
    return {**one, **others} if others else one
