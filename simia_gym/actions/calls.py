"""Reads a policy's action, a text or an assistant message, and the tool calls in the shapes that models write."""

from __future__ import annotations

import json
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from simia_gym.actions.assistant import ARGUMENTS, OF_CALL
from simia_gym.actions.base import Grammar
from simia_gym.actions.strict_json import MAX_DEPTH, JsonProblem, decode_all
from simia_gym.actions.thinking import strip_thinking
from simia_gym.common.json_encoding import BASE64, as_text
from simia_gym.errors import ActionError, InputError
from simia_gym.state.frozen import freeze
from simia_gym.types import Action, Calls, JsonObject, Message, PolicyAction, ToolCall

if TYPE_CHECKING:
    from simia_gym.actions.dialects.reader import DialectReader

MAX_CHARACTERS = 100_000
"""Maximum length of an action; a longer one is invalid."""

EXAMPLE = '<tool_call>\n{"name": "tool_name", "arguments": {"argument": "value"}}\n</tool_call>'
_CALL_KEYS = frozenset(("name", "arguments", "parameters", "id", "type"))
_OTHER_NAMES = frozenset(ARGUMENTS[1:])
_NAMES = frozenset(ARGUMENTS)
_KNOWN = OF_CALL | _NAMES
_NONE = ("", "null")
_MEANT_AS_CALL = frozenset(
    (
        *("name", "arguments", "parameters", "args", "input", "action", "tool", "tool_name", "tool_call"),
        *("tool_calls", "function", "function_call", "function_name", "calls"),
    )
)
_ID = attrgetter("id")
_THINKING = frozenset(("thinking", "redacted_thinking", "reasoning"))
_write = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_NOT_JSON = '{"role": "assistant", "tool_calls": NaN}'


def read_action(
    grammar: Grammar, action: PolicyAction, dialect: DialectReader | None = None
) -> tuple[str, Action | ActionError]:
    """Read one action of a policy.

    Args:
        grammar: The domain's grammar.
        action: Text in the grammar, or an assistant message in OpenAI's layout, as `as_action` gives it. The
            ``arguments`` of a call in a message are an object or a JSON text. A message without calls is read as its
            content.
        dialect: Reads a text that is calls in the format of a model family, before the grammar does.

    Returns:
        The canonical text of the action, which is recorded, and the parsed action or the error. Parsing the canonical
        text gives the same action or error. A text longer than `MAX_CHARACTERS` is truncated.
    """
    calls: Calls | None = None
    if isinstance(action, str):
        text = str(action)
    else:
        try:
            text, calls = message_parts(action)
            if calls is not None:
                if grammar.observation_role == "user":  # this grammar has no call ids
                    calls = replace(calls, calls=tuple(replace(call, id=None) for call in calls.calls))
                text = grammar.render(calls)
                if calls.text:
                    calls = replace(calls, text=strip_thinking(calls.text).strip())
        except (ActionError, InputError, ValueError):
            text, calls = _as_json(action), None  # parsing this text gives the same error
    if not text.isascii():
        text = as_text(text)
    if text.startswith(BASE64):
        error = ActionError("not_text", "Error: the action is no text: it has half of a character (a lone surrogate).")
        return text[: MAX_CHARACTERS + 1], error
    if len(text) > MAX_CHARACTERS:
        error = ActionError("too_long", f"Error: an action has at most {MAX_CHARACTERS} characters.")
        return text[: MAX_CHARACTERS + 1], error
    if calls is not None and text.count("{") + text.count("[") <= MAX_DEPTH:
        return text, calls
    reading = None if dialect is None else dialect.read(text)
    if reading is not None:
        return text, reading.action
    try:
        return text, grammar.parse(text)
    except ActionError as error:
        return text, error


def _as_json(message: Message) -> str:
    """A malformed message as text; one that JSON cannot express has ``NaN`` as its calls, which is never valid."""
    try:
        return json.dumps(message, ensure_ascii=False, default=lambda value: float("nan"))
    except (TypeError, ValueError, RecursionError):
        return _NOT_JSON


def call_message(*calls: ToolCall, content: str | None = None, as_text: bool = False) -> Message:
    """Make the assistant message with the given calls.

    Args:
        calls: The calls, in order.
        content: Text of the message.
        as_text: Write the arguments as JSON text, as OpenAI does; otherwise they stay objects.
    """
    listed = []
    for call in calls:
        arguments = _write(call.arguments) if as_text else call.arguments
        item = {"type": "function", "function": {"name": call.name, "arguments": arguments}}
        listed.append(item if call.id is None else {"id": call.id, **item})
    return {"role": "assistant", "content": content, "tool_calls": listed}


def with_ids(calls: tuple[ToolCall, ...], turn: int) -> tuple[ToolCall, ...]:
    """The calls of an action with ids that differ; one that has none, or that of an earlier call, gets its own."""
    if len(calls) == 1:  # as nearly all actions
        (call,) = calls
        named = call.id and not call.id.isspace()
        return calls if named else (ToolCall(call.name, call.arguments, f"call_{turn}_0"),)
    taken = set(map(_ID, calls))
    made: list[ToolCall] = []
    used = set[str]()
    for number, call in enumerate(calls):
        own = call.id
        if own is None or own in used or not own.strip():
            own = f"call_{turn}_{number}"
            while own in taken:
                own += "_"
            call = ToolCall(call.name, call.arguments, own)
            taken.add(own)
        used.add(own)
        made.append(call)
    return tuple(made)


def broken(code: str, what: str) -> ActionError:
    """An `ActionError` that says what was wrong and shows what a valid call looks like."""
    return ActionError(code, f"{what} A valid tool call looks like this:\n{EXAMPLE}")


def broken_json(code: str, lead: str, problem: JsonProblem, text: str, offset: int = 0) -> ActionError:
    """An `ActionError` for invalid JSON, with the mistake's position; the text begins at ``offset`` of the action."""
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
    """Read one call, ``{"name", "arguments"}`` or OpenAI's ``{"id", "type", "function": {...}}``.

    Arguments that are null, blank or the text ``null`` mean none. An id that is no text, or an empty one, is left out.

    Args:
        value: The decoded JSON.
        lenient: Read what structured messages hold: missing arguments as none, and those under another name of
            `ARGUMENTS`. Whatever else may be meant as arguments is refused by its name.

    Raises:
        ActionError: ``malformed_call``, ``missing_name`` or ``bad_arguments``.
        InputError: The arguments hold a value that is not JSON.
    """
    if not isinstance(value, dict):
        raise broken("malformed_call", "A tool call must be a JSON object.")
    call_id = value.get("id") if "call_id" not in value else value["call_id"]
    if not isinstance(call_id, str) or not call_id:
        call_id = None  # the episode gives it one
    inner = value.get("function")
    function = inner if isinstance(inner, dict) else value
    name = function.get("name")
    if not isinstance(name, str) or not name.strip():
        raise broken("missing_name", 'The tool call has no "name", or it is not a text.')
    if not lenient and not _CALL_KEYS.issuperset(function):
        keys = ", ".join(repr(key) for key in sorted(function.keys() - _CALL_KEYS))
        raise broken("bad_arguments", f'The call of {name!r} has {keys} beside "name" and "arguments".')
    key, arguments = "arguments", function.get("arguments")
    alone = _OTHER_NAMES.isdisjoint(function) and (function is value or _NAMES.isdisjoint(value))
    if not alone or arguments is None or (isinstance(arguments, str) and arguments.strip() in _NONE):
        key, arguments = _only_arguments(name, function, value, lenient)
    if isinstance(arguments, str):
        text = arguments
        try:
            arguments = decode_all(text)
        except JsonProblem as problem:
            lead = f"The {key} of {name!r} are a text that is not valid JSON"
            raise broken_json("bad_arguments", lead, problem, text) from None
    if not isinstance(arguments, dict):
        raise broken("bad_arguments", f"The arguments of {name!r} must be a JSON object.")
    # A copy, because the caller may change its message later, and read-only, because the record shares it.
    return ToolCall(name, freeze(arguments), call_id)


def _only_arguments(name: str, function: JsonObject, call: JsonObject, lenient: bool) -> tuple[str, Any]:
    """The only key of a call that has arguments, and its value; an empty object if there are none."""
    parts = (function,) if function is call else (function, call)
    named = [(key, part[key]) for part in parts for key in ARGUMENTS if key in part]
    given = [
        (key, value)
        for key, value in named
        if value is not None and not (isinstance(value, str) and value.strip() in _NONE)
    ]
    if not given:
        others = {repr(key) for part in parts for key, value in part.items() if key not in _KNOWN and value}
        if others:
            keys = ", ".join(sorted(others))
            raise broken("bad_arguments", f'The call of {name!r} has {keys} in the place of "arguments".')
        if not named and not lenient:
            raise broken("bad_arguments", f'The call of {name!r} has no "arguments"; write {{}} where it needs none.')
        return "arguments", {}
    if len(given) > 1:
        keys = " and ".join(f'"{key}"' for key, _ in given)
        raise broken("bad_arguments", f"The call of {name!r} has both {keys}; write its arguments once.")
    return given[0]


def message_parts(message: JsonObject) -> tuple[str, Calls | None]:
    """Split an assistant message in OpenAI's layout into its text and its calls.

    ``content`` is a text, null, or a list of parts, whose thinking parts are skipped; the ``arguments`` of a call are
    an object, or a JSON text of one. The calls get the content as their text; they are ``None`` if there are none.

    Raises:
        ActionError: ``malformed_call``, ``missing_name`` or ``bad_arguments``.
        InputError: The arguments hold a value that is not JSON.
    """
    if message.get("role", "assistant") != "assistant":
        raise broken("malformed_call", f"The message has the role {message.get('role')!r}, not 'assistant'.")
    content, listed = message.get("content"), message.get("tool_calls")
    if content is None:
        content = ""
    elif not isinstance(content, str):
        content = text_of(content)
    if listed is None or listed == []:
        return content, None
    if not isinstance(listed, list):
        raise broken("malformed_call", '"tool_calls" must be a list.')
    calls: list[ToolCall] = []
    for number, item in enumerate(listed, start=1):
        try:
            calls.append(call_from(item, lenient=True))
        except ActionError as error:
            if len(listed) == 1:
                raise
            lead = f"None of the {len(listed)} calls ran, because call {number} cannot be read. "
            raise ActionError(error.code, lead + error.message) from None
    return content, Calls(tuple(calls), content)


def text_of(content: Any) -> str:
    """The text of a list of content parts, without those that only think.

    Raises:
        ActionError: ``malformed_call``: it is no list of texts.
    """
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        texts = [part.get("text") for part in content if part.get("type") not in _THINKING]
        if all(isinstance(text, str) for text in texts):
            return "".join(texts)
    raise broken("malformed_call", '"content" of the message must be a text.')
