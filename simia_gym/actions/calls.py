"""Converts decoded JSON values, in the shapes that models write, to tool calls or to errors."""

from __future__ import annotations

from typing import Any, cast

from simia_gym.actions.strict_json import JsonProblem, decode_all
from simia_gym.errors import ActionError
from simia_gym.state.frozen import freeze, thaw
from simia_gym.types import JsonObject, ToolCall

EXAMPLE = '<tool_call>\n{"name": "tool_name", "arguments": {"argument": "value"}}\n</tool_call>'
_CALL_KEYS = frozenset(("name", "arguments", "parameters", "id", "type"))
_MEANT_AS_CALL = frozenset(
    (
        *("name", "arguments", "parameters", "args", "input", "action", "tool", "tool_name", "tool_call"),
        *("tool_calls", "function", "function_call", "function_name", "calls"),
    )
)
_THINKING = frozenset(("thinking", "redacted_thinking", "reasoning"))
_MISSING = object()


def broken(code: str, what: str) -> ActionError:
    """An `ActionError` that says what was wrong and shows what a valid call looks like."""
    return ActionError(code, f"{what} A valid tool call looks like this:\n{EXAMPLE}")


def broken_json(code: str, lead: str, problem: JsonProblem, text: str, offset: int = 0) -> ActionError:
    """An `ActionError` for invalid JSON, with the position of the mistake.

    Args:
        code: The error's code.
        lead: Beginning of the message, such as ``The tool call is not valid JSON``.
        problem: The decoder's error.
        text: The text that the position refers to.
        offset: Index of this text in the policy's output.

    Returns:
        The error.
    """
    place = ""
    if problem.position is not None:
        near = text[problem.position : problem.position + 20].split("\n")[0]
        place = f" at character {problem.position + offset}" + (f", near {near!r}" if near else ", where it ends")
    return broken(code, f"{lead}: {problem.message}{place}.")


def is_message(value: JsonObject) -> bool:
    """Whether a JSON object is an OpenAI chat message and not a tool call."""
    return "tool_calls" in value or ("role" in value and "name" not in value)


def looks_like_call(value: Any) -> bool:
    """Whether a JSON value inside a text is certainly meant as a tool call."""
    if isinstance(value, list):
        return bool(value) and all(looks_like_call(item) for item in value)
    if not isinstance(value, dict):
        return False
    named = "name" in value and ("arguments" in value or "parameters" in value)
    return named or isinstance(value.get("function"), dict) or "tool_calls" in value


def is_speech(value: Any) -> bool:
    """Whether a JSON object is a message to the user, such as ``{"message": "..."}``, and not an attempted call."""
    if type(value) is not dict or "role" in value or not _MEANT_AS_CALL.isdisjoint(value):
        return False
    return any(isinstance(item, str) for item in value.values()) and not any(map(looks_like_call, value.values()))


def call_from(value: Any, *, lenient: bool = False) -> ToolCall:
    """Read one call.

    Args:
        value: ``{"name", "arguments"}`` or OpenAI's ``{"id", "type", "function": {...}}``.
        lenient: Accept missing, null and empty arguments, as servers write them for calls without arguments.

    Returns:
        The call.

    Raises:
        ActionError: ``malformed_call``, ``missing_name`` or ``bad_arguments``.
    """
    if not isinstance(value, dict):
        raise broken("malformed_call", "A tool call must be a JSON object.")
    call_id = value.get("id")
    if call_id is not None and (not isinstance(call_id, str) or not call_id):
        raise broken("malformed_call", "The id of a tool call must be a text that is not empty.")
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    name = value.get("name")
    if not isinstance(name, str) or not name.strip():
        raise broken("missing_name", 'The tool call has no "name", or it is not a text.')
    if not lenient and not _CALL_KEYS.issuperset(value):
        keys = ", ".join(repr(key) for key in sorted(value.keys() - _CALL_KEYS))
        raise broken("bad_arguments", f'The call of {name!r} has {keys} beside "name" and "arguments".')
    return ToolCall(name, _arguments(value, name, lenient), call_id)


def _arguments(value: JsonObject, name: str, lenient: bool) -> JsonObject:
    arguments = value.get("arguments", _MISSING)
    other = value.get("parameters", _MISSING)
    if arguments is _MISSING:
        arguments = other
    elif other is not _MISSING:
        raise broken("bad_arguments", f'The call of {name!r} has both "arguments" and "parameters".')
    if isinstance(arguments, dict):
        # A lenient read copies: the caller may change its message later.
        return cast("JsonObject", thaw(freeze(arguments))) if lenient else arguments
    if lenient and (arguments is _MISSING or arguments is None or arguments == ""):
        return {}
    if arguments is _MISSING:
        raise broken("bad_arguments", f'The call of {name!r} has no "arguments"; write {{}} where it needs none.')
    if isinstance(arguments, str):
        try:
            arguments = decode_all(arguments)
        except JsonProblem as problem:
            lead = f"The arguments of {name!r} are a text that is not valid JSON"
            raise broken_json("bad_arguments", lead, problem, str(value.get("arguments", other))) from None
    if not isinstance(arguments, dict):
        raise broken("bad_arguments", f"The arguments of {name!r} must be a JSON object.")
    return arguments


def message_parts(message: JsonObject) -> tuple[str, tuple[ToolCall, ...]]:
    """Split an assistant message in OpenAI's layout into its text and its calls.

    Args:
        message: ``{"role": "assistant", "content": ..., "tool_calls": [...]}``. ``content`` is a text, null, or a
            list of parts, whose thinking parts are skipped; the ``arguments`` of a call are an object, or a JSON text
            of one.

    Returns:
        The content as text, and the calls, which may be none.

    Raises:
        ActionError: ``malformed_call``, ``missing_name`` or ``bad_arguments``.
        InputError: The arguments hold a value that is not JSON.
    """
    if message.get("role", "assistant") != "assistant":
        raise broken("malformed_call", f"The message has the role {message.get('role')!r}, not 'assistant'.")
    content, listed = _content(message.get("content")), message.get("tool_calls")
    if listed is None or listed == []:
        return content, ()
    if not isinstance(listed, list):
        raise broken("malformed_call", '"tool_calls" must be a list.')
    calls = tuple([call_from(item, lenient=True) for item in listed])
    ids = [call.id for call in calls if call.id is not None]
    if len(set(ids)) != len(ids):
        raise broken("malformed_call", "Two tool calls have the same id.")
    return content, calls


def _content(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        texts = [part.get("text") for part in content if part.get("type") not in _THINKING]
        if all(isinstance(text, str) for text in texts):
            return "".join(texts)
    raise broken("malformed_call", '"content" of the message must be a text.')
