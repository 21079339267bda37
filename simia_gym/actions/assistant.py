"""The assistant's message around an action: its shape, and the provider's own fields, which go back as they came.

Providers demand fields of theirs back in the next request, such as ``reasoning_content`` of the message or
``extra_content`` of a call. They are kept beside the action, in the layout of the message without what this package
reads from it: ``{"reasoning_content": "...", "tool_calls": [{"extra_content": {...}}]}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from simia_gym.common.json_encoding import decode, encode
from simia_gym.common.secrets import without_secrets
from simia_gym.errors import Fault, InputError
from simia_gym.state.frozen import freeze
from simia_gym.types import JsonObject, Message, PolicyAction

LENGTH = "length"
"""The ``finish_reason`` of a reply that the token limit cut off."""

_CUT_OFF = frozenset((LENGTH, "max_tokens", "max_output_tokens", "model_context_window_exceeded"))
_BROKEN_OFF = {
    **dict.fromkeys(("abort", "aborted", "cancelled", "error", "network_error"), "server_error"),
    "insufficient_system_resource": "server_error",
    **dict.fromkeys(("content_filter", "sensitive", "safety", "recitation"), "content_filter"),
}
ARGUMENTS = ("arguments", "parameters", "args", "input")
"""The names under which a structured call may have its arguments."""

_OF_PROVIDER = frozenset(
    (
        *("index", "status", "caller", "cache_control", "extra_content", "provider_specific_fields"),
        *("signature", "thought_signature"),
    )
)
OF_CALL = frozenset(("id", "call_id", "type", "function", "name", *_OF_PROVIDER))
"""What a call has beside its arguments, the fields of known providers included."""

_READ = frozenset(("role", "content", "tool_calls", "function_call", "finish_reason", "parsed"))
_READ_OF_CALL = frozenset(("id", "call_id", "type", "function", "name", "parsed_arguments", *ARGUMENTS))
_TEXTS = frozenset(("text", "output_text", "refusal"))
_THOUGHTS = frozenset(("thinking", "redacted_thinking", "reasoning", "reasoning_text"))
_FIX = "Give a text or an assistant message: one of the reply's choices, in OpenAI's layout."


class RecordedAction(str):
    """The text of a recorded action, with the further fields of its event.

    Attributes:
        fields: ``provider`` and ``finish_reason``, where the event has them.
    """

    fields: JsonObject

    def __new__(cls, text: str, fields: JsonObject) -> RecordedAction:
        """Make the text of an action that is played again."""
        made = super().__new__(cls, text)
        made.fields = fields
        return made


def broken_off(reason: object) -> str | None:
    """The kind of fault of a reply that the server broke off, by its ``finish_reason``; ``None`` if it did not."""
    return _BROKEN_OFF.get(reason.lower()) if isinstance(reason, str) else None


def cut_off(reason: object) -> bool:
    """Whether a ``finish_reason`` says that a token limit cut the reply off."""
    return isinstance(reason, str) and reason.lower() in _CUT_OFF


def as_action(given: object) -> PolicyAction:
    """The text or message of an action of any shape that has one reading.

    These are a text; an assistant message, as a dictionary or as an SDK's object, or with objects in it; a completion
    with one choice, or the choice; a reply of Responses, its items or one of them; a message whose parts call tools;
    one call alone.

    Raises:
        InputError: It has no single reading; names what it is.
        Fault: The server broke the completion off.
    """
    if isinstance(given, str):
        return given
    if isinstance(given, list) and given:
        return _of_items([each if isinstance(each, dict) else _dumped(each) for each in given])
    message = given if isinstance(given, dict) else _dumped(given)
    for name in ("tool_calls", "content"):
        listed = message.get(name)
        if isinstance(listed, list):
            for item in listed:
                if not isinstance(item, dict) and hasattr(item, "model_dump"):
                    plain = [_dumped(each) if hasattr(each, "model_dump") else each for each in listed]
                    message = {**message, name: plain}
                    break
    usual = "role" in message and "function_call" not in message and not isinstance(message.get("content"), list)
    return message if usual else _unusual(message)


def _dumped(given: object) -> JsonObject:
    """The dictionary of an SDK's object."""
    dump = getattr(given, "model_dump", None)
    if dump is None:
        what = f"an action is a text or an assistant message, not a {type(given).__name__}"
        raise InputError(what, where="action", fix="Give a str, or a dictionary in OpenAI's layout.")
    unasked = {"warnings": False} if isinstance(given, BaseModel) else {}  # an id may be no text
    try:
        dumped = dump(exclude_none=True, **unasked)
    except Exception as error:
        what = f"model_dump() of the action raised {type(error).__name__}: {error}"
        raise InputError(what, where="action", fix=_FIX) from error
    if not isinstance(dumped, dict):
        raise InputError("model_dump() of the action gives no dictionary", where="action", fix=_FIX)
    return dumped


def _unusual(given: JsonObject) -> Message:
    """The message of a dictionary that is none in OpenAI's layout of now."""
    kind, content, inner = given.get("type"), given.get("content"), given.get("message")
    if "choices" in given:
        return _of_completion(given)
    if "role" not in given and isinstance(inner, dict):
        return _of_choice(given, None)
    if given.get("object") == "response" or ("role" not in given and isinstance(given.get("output"), list)):
        return _of_response(given)
    if kind in ("function_call", "tool_use"):
        return _of_items([given])
    parts = content if isinstance(content, list) and given.get("role", "assistant") == "assistant" else []
    called = any(isinstance(part, dict) and part.get("type") == "tool_use" for part in parts)
    if parts and not given.get("tool_calls") and (called or kind == "message"):
        return {**_of_items([{"type": "message", "content": parts}]), "finish_reason": given.get("stop_reason")}
    legacy = given.get("function_call")
    if isinstance(legacy, dict) and not given.get("tool_calls"):
        rest = {name: value for name, value in given.items() if name != "function_call"}
        return {**rest, "tool_calls": [{"function": legacy}]}
    if given and given.keys().isdisjoint(("role", "content", "tool_calls")):
        if "name" in given or isinstance(given.get("function"), dict):
            return {"role": "assistant", "content": None, "tool_calls": [given]}
        keys = ", ".join(map(repr, given))
        raise InputError(f"an action with the keys {keys} is no message", where="action", fix=_FIX)
    return given


def _of_completion(completion: JsonObject) -> Message:
    choices = completion["choices"]
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        number = len(choices) if isinstance(choices, list) else 0
        what = f"a completion with {number} choices is no action" if number != 1 else "its choice has no message"
        raise InputError(what, where="action", fix=_FIX)
    return _of_choice(choice, completion.get("error"))


def _of_choice(choice: JsonObject, error: object) -> Message:
    message, reason = choice["message"], choice.get("finish_reason")
    _refuse_broken_off(reason, choice.get("error") or error)
    return {**_unusual({"role": "assistant", **message}), "finish_reason": reason}


def _of_response(response: JsonObject) -> Message:
    """The message of a reply of OpenAI's Responses."""
    output, details = response.get("output"), response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else response.get("status")
    _refuse_broken_off(reason, response.get("error"))
    return {**_of_items(output if isinstance(output, list) else []), "finish_reason": reason}


def _refuse_broken_off(reason: object, error: object) -> None:
    kind = broken_off(reason) or ("server_error" if error else None)
    if kind is not None:
        raise Fault(kind, f"the server broke the reply off (finish_reason {reason!r})", role="policy")


def _of_items(items: list[Any]) -> Message:
    """The message of items of OpenAI's Responses, of which those that only think are left out."""
    texts: list[str] = []
    calls: list[JsonObject] = []
    for item in items:
        kind = item.get("type") if isinstance(item, dict) else type(item).__name__
        if kind in ("function_call", "tool_use"):
            calls.append(_call_of(item))
        elif kind == "message":
            content = item.get("content")
            for part in content if isinstance(content, list) else [content]:
                _read_part(part, texts, calls)
        elif kind not in _THOUGHTS:
            raise InputError(f"an item {kind!r} is no action", where="action", fix=_FIX)
    message: Message = {"role": "assistant", "content": "".join(texts) or None}
    return {**message, "tool_calls": calls} if calls else message


def _call_of(item: JsonObject) -> JsonObject:
    """A call in OpenAI's layout, with everything that may be meant as its arguments."""
    function = {name: value for name, value in item.items() if name == "name" or name not in OF_CALL}
    return {"id": item.get("call_id") or item.get("id"), "type": "function", "function": function}


def _read_part(part: object, texts: list[str], calls: list[JsonObject]) -> None:
    if isinstance(part, str):
        texts.append(part)
        return
    kind = part.get("type", "text") if isinstance(part, dict) else None
    if isinstance(part, dict) and kind == "tool_use":
        calls.append(_call_of(part))
    elif kind not in _THOUGHTS:
        text = part.get("text", part.get("refusal")) if isinstance(part, dict) and kind in _TEXTS else None
        if not isinstance(text, str):
            raise InputError(f"a part {part!r:.80} of the message is no text", where="action", fix=_FIX)
        texts.append(text)


def further_fields(action: PolicyAction) -> JsonObject:
    """What the event of an action holds beside its text: ``provider``, and ``finish_reason`` if it was cut off.

    Raises:
        InputError: A field of the provider is not JSON.
    """
    if isinstance(action, str):
        return action.fields if type(action) is RecordedAction else {}
    fields: JsonObject = {}
    own = {name: value for name, value in action.items() if name not in _READ and value not in (None, [])}
    listed = action.get("tool_calls")
    if isinstance(listed, list):
        calls = [_own_of_call(item) for item in listed]
        if any(calls):
            own["tool_calls"] = calls
    if own:
        fields["provider"] = freeze(decode(without_secrets(encode(own).decode()).encode()))
    if cut_off(action.get("finish_reason")):
        fields["finish_reason"] = LENGTH
    return fields


def _own_of_call(item: object) -> JsonObject:
    if not isinstance(item, dict):
        return {}
    own = {name: value for name, value in item.items() if name not in _READ_OF_CALL and value is not None}
    function = item.get("function")
    inner: JsonObject = {}
    if isinstance(function, dict):
        if len(function) > 2:
            inner = {name: value for name, value in function.items() if name not in _READ_OF_CALL and value is not None}
        if inner:
            own["function"] = inner
    if own and item.get("arguments") is None and (not isinstance(function, dict) or function.get("arguments") is None):
        return _without_arguments(item, own)
    return own


def _without_arguments(item: JsonObject, own: JsonObject) -> JsonObject:
    """A provider's own fields of a call that has no ``arguments``: what may be meant as its arguments is none."""
    function = item.get("function")
    parts = (item, function) if isinstance(function, dict) else (item,)
    if any(part.get(name) is not None for part in parts for name in ARGUMENTS):
        return own
    return {name: value for name, value in own.items() if name in _OF_PROVIDER}


def with_provider(message: JsonObject, provider: Mapping[str, Any] | None) -> JsonObject:
    """An assistant message with the provider's own fields, in their places."""
    if not provider:
        return message
    whole = {**message, **{name: value for name, value in provider.items() if name not in _READ}}
    calls, own = message.get("tool_calls"), provider.get("tool_calls")
    if calls and own:
        more = [*own, *({} for _ in calls[len(own) :])]
        whole["tool_calls"] = [
            {**call, **fields, "function": {**fields.get("function", {}), **call["function"]}}
            for call, fields in zip(calls, more, strict=False)
        ]
    return whole
