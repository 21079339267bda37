"""Parses a policy's action, a text or an assistant message, by the domain's grammar."""

from __future__ import annotations

import json
from dataclasses import replace

from simia_gym.actions.base import Grammar
from simia_gym.actions.calls import message_parts
from simia_gym.actions.strict_json import MAX_DEPTH
from simia_gym.actions.thinking import strip_thinking, without_surrogates
from simia_gym.errors import ActionError, InputError
from simia_gym.types import Action, Calls, Message, PolicyAction, ToolCall

MAX_CHARACTERS = 100_000
"""Maximum length of an action; a longer one is invalid."""

_NOT_JSON = '{"role": "assistant", "tool_calls": NaN}'


def read_action(grammar: Grammar, action: PolicyAction) -> tuple[str, Action | ActionError]:
    """Read one action of a policy.

    Args:
        grammar: The domain's grammar.
        action: Text in the grammar, or an assistant message in OpenAI's layout. The ``arguments`` of a call in a
            message are an object or a JSON text. A message without calls is read as its content.

    Returns:
        The canonical text of the action, which is recorded, and the parsed action or the error. Parsing the canonical
        text gives the same action or error. A text longer than `MAX_CHARACTERS` is truncated.

    Raises:
        InputError: The action is neither a text nor a dictionary.
    """
    if not isinstance(action, str):
        if not isinstance(action, dict):
            raise InputError(
                f"an action is a text or an assistant message, not a {type(action).__name__}",
                where="action",
                fix="Give a str, or a dictionary in OpenAI's layout.",
            )
        action, calls = _read_message(grammar, action)
        if calls is not None:
            return action, calls
    text = action[: MAX_CHARACTERS + 1]
    try:
        if len(text) > MAX_CHARACTERS:
            raise ActionError("too_long", f"Error: an action has at most {MAX_CHARACTERS} characters.")
        return text, grammar.parse(text)
    except ActionError as error:
        return text, error


def _read_message(grammar: Grammar, message: Message) -> tuple[str, Calls | None]:
    """The canonical text of a message, and its calls; ``None`` if that text has to be parsed instead."""
    try:
        content, calls = message_parts(message)
        if not calls:
            return content, None
        if grammar.observation_role == "user":  # this grammar has no call ids
            calls = tuple([replace(call, id=None) for call in calls])
        text = grammar.render(Calls(calls, content))
    except (ActionError, InputError, ValueError):
        return _as_json(message), None  # parsing this text gives the same error
    deep = text.count("{") + text.count("[") > MAX_DEPTH
    if deep or len(text) > MAX_CHARACTERS or without_surrogates(text) != text:
        return text, None
    return text, Calls(calls, strip_thinking(content).strip())


def call_message(*calls: ToolCall, content: str | None = None) -> Message:
    """Make the assistant message with the given calls; their arguments stay objects.

    Args:
        calls: The calls, in order.
        content: Text of the message.
    """
    listed = []
    for call in calls:
        item = {"type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        listed.append(item if call.id is None else {"id": call.id, **item})
    return {"role": "assistant", "content": content, "tool_calls": listed}


def _as_json(message: Message) -> str:
    """A malformed message as text; one that JSON cannot express has ``NaN`` as its calls, which is never valid."""
    try:
        return json.dumps(message, ensure_ascii=False, default=lambda value: float("nan"))
    except (TypeError, ValueError, RecursionError):
        return _NOT_JSON
