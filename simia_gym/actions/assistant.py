"""The assistant's message around an action: its shape, and the provider's own fields, which go back as they came.

Providers demand fields of theirs back in the next request, such as ``reasoning_content`` of the message or
``extra_content`` of a call. They are kept beside the action, in the layout of the message without what this package
reads from it: ``{"reasoning_content": "...", "tool_calls": [{"extra_content": {...}}]}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simia_gym.common.json_encoding import decode, encode
from simia_gym.common.secrets import without_secrets
from simia_gym.errors import Fault, InputError
from simia_gym.state.frozen import freeze
from simia_gym.types import JsonObject, Message, PolicyAction

LENGTH = "length"
"""The ``finish_reason`` of a reply that the token limit cut off."""

_CUT_OFF = frozenset((LENGTH, "max_tokens", "model_context_window_exceeded"))
_BROKEN_OFF = {
    **dict.fromkeys(("abort", "aborted", "cancelled", "error", "network_error"), "server_error"),
    "insufficient_system_resource": "server_error",
    **dict.fromkeys(("content_filter", "sensitive", "safety", "recitation"), "content_filter"),
}
_READ = frozenset(("role", "content", "tool_calls", "finish_reason"))
_READ_OF_CALL = frozenset(("id", "call_id", "type", "function", "name", "arguments", "parameters", "args", "input"))
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
    """The text or message of an action that may be an object of an SDK, a whole completion or a Responses item.

    Raises:
        InputError: It has no single reading; names what it is.
        Fault: The server broke the completion off.
    """
    if isinstance(given, str):
        return given
    if not isinstance(given, dict):
        dump = getattr(given, "model_dump", None)
        if dump is None:
            what = f"an action is a text or an assistant message, not a {type(given).__name__}"
            raise InputError(what, where="action", fix="Give a str, or a dictionary in OpenAI's layout.")
        given = dump(exclude_none=True)
        if not isinstance(given, dict):
            raise InputError("model_dump() of the action gives no dictionary", where="action", fix=_FIX)
    if "choices" in given:
        return _of_completion(given)
    kind, output = given.get("type"), given.get("output")
    if given.get("object") == "response" or ("role" not in given and isinstance(output, list)):
        return _of_items(output if isinstance(output, list) else [])
    if kind in ("function_call", "reasoning") or (kind == "message" and isinstance(given.get("content"), list)):
        return _of_items([given])
    legacy = given.get("function_call")
    if isinstance(legacy, dict) and not given.get("tool_calls"):
        rest = {name: value for name, value in given.items() if name != "function_call"}
        return {**rest, "tool_calls": [{"function": legacy}]}
    return given


def _of_completion(completion: JsonObject) -> PolicyAction:
    choices = completion["choices"]
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        number = len(choices) if isinstance(choices, list) else 0
        what = f"a completion with {number} choices is no action" if number != 1 else "its choice has no message"
        raise InputError(what, where="action", fix=_FIX)
    reason, error = choice.get("finish_reason"), choice.get("error") or completion.get("error")
    kind = broken_off(reason) or ("server_error" if error else None)
    if kind is not None:
        raise Fault(kind, f"the server broke the reply off (finish_reason {reason!r})", role="policy")
    return as_action({**choice["message"], "finish_reason": reason})


def _of_items(items: list[Any]) -> PolicyAction:
    """The message of the output items of OpenAI's Responses, of which those that only think are left out."""
    texts: list[str] = []
    calls: list[JsonObject] = []
    for item in items:
        kind = item.get("type") if isinstance(item, dict) else type(item).__name__
        if kind == "function_call":
            function = {name: item[name] for name in ("name", "arguments") if name in item}
            calls.append({"id": item.get("call_id") or item.get("id"), "type": "function", "function": function})
        elif kind == "message":
            content = item.get("content")
            for part in content if isinstance(content, list) else [content]:
                if isinstance(part, dict) and part.get("type") == "tool_use":
                    function = {"name": part.get("name"), "arguments": part.get("input")}
                    calls.append({"id": part.get("id"), "type": "function", "function": function})
                    continue
                text = part if isinstance(part, str) else (part or {}).get("text", (part or {}).get("refusal"))
                if isinstance(text, str):
                    texts.append(text)
        elif kind != "reasoning":
            raise InputError(f"an item {kind!r} is no action", where="action", fix=_FIX)
    if not texts and not calls:
        raise InputError("the reply has neither a text nor a call", where="action", fix=_FIX)
    message: Message = {"role": "assistant", "content": "".join(texts) or None}
    return {**message, "tool_calls": calls} if calls else message


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
    if isinstance(function, dict) and len(function) > 2:
        inner = {name: value for name, value in function.items() if name not in _READ_OF_CALL}
        if inner:
            own["function"] = inner
    return own


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
