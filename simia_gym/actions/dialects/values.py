"""What the readers of dialects share: JSON arguments, the calls made of them, and what type a text stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.actions.calls import broken, call_from
from simia_gym.actions.signatures import function_of, resolve
from simia_gym.actions.strict_json import JsonProblem, decode_all, decode_at, skip_space
from simia_gym.types import JsonObject, ToolCall

_TYPES = {
    str: ("string",),
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    list: ("array",),
    dict: ("object",),
    type(None): ("null",),
}
_ANY = frozenset(kind for kinds in _TYPES.values() for kind in kinds)


class Tools:
    """The tools of a domain, whose schemas say what a text is where a dialect does not.

    Args:
        tools: OpenAI tool dictionaries.
    """

    def __init__(self, tools: Sequence[JsonObject] = ()) -> None:
        self._schemas: dict[str, Mapping[str, Any]] = {}
        for tool in tools:
            function = function_of(tool)
            self._schemas[str(function["name"])] = function.get("parameters") or {}

    def value(self, tool: str, argument: str, text: str) -> Any:
        """The value that a text without a type stands for: the text itself, or what it is as JSON.

        Raises:
            ActionError: ``bad_arguments``: it is neither, or it could be both.
        """
        if tool not in self._schemas:
            return text  # its call is refused by its name
        root = self._schemas[tool]
        properties = root.get("properties")
        allowed = _kinds(properties.get(argument, {}) if isinstance(properties, Mapping) else {}, root)
        try:
            decoded = decode_all(text)
        except JsonProblem:
            decoded = text
        if not isinstance(decoded, str) and not allowed.isdisjoint(_TYPES[type(decoded)]):
            if "string" not in allowed or decoded is None:
                return decoded
            what = f"The argument {argument!r} of {tool!r} may be a text or {text.strip()[:40]} itself."
            raise broken("bad_arguments", what)
        if "string" in allowed:
            return text
        what = f"The argument {argument!r} of {tool!r} must be JSON of the type {' or '.join(sorted(allowed))}."
        raise broken("bad_arguments", what)


def _kinds(schema: Any, root: Mapping[str, Any], depth: int = 0) -> frozenset[str]:
    """The JSON types that a schema allows; all of them where it does not say."""
    part = resolve(schema, root)
    if "const" in part or isinstance(part.get("enum"), list):
        values = [part["const"]] if "const" in part else part["enum"]
        return frozenset(_TYPES[type(value)][0] for value in values if type(value) in _TYPES) or _ANY
    options = part.get("anyOf") or part.get("oneOf")
    if isinstance(options, list) and options and depth < 4:
        return frozenset[str]().union(*(_kinds(option, root, depth + 1) for option in options))
    kind = part.get("type")
    return frozenset((kind,)) if isinstance(kind, str) else frozenset(kind) if isinstance(kind, list) else _ANY


def made(name: str, arguments: Any) -> ToolCall:
    """The call of a tool.

    Raises:
        ActionError: ``missing_name`` or ``bad_arguments``.
    """
    return call_from({"name": name, "arguments": arguments})


def json_arguments(text: str, position: int, closing: str) -> tuple[Any, int]:
    """The JSON arguments at a position, none if the closing mark stands there, and the index after them."""
    position = skip_space(text, position)
    return ({}, position) if text.startswith(closing, position) else decode_at(text, position)


def expect(text: str, position: int, mark: str | re.Pattern[str], what: str) -> int:
    """The index after a mark, which may have white space before it.

    Raises:
        JsonProblem: The mark is missing; says what was expected.
    """
    position = skip_space(text, position)
    if isinstance(mark, str):
        if text.startswith(mark, position):
            return position + len(mark)
    elif found := mark.match(text, position):
        return found.end()
    raise JsonProblem(f"Expecting {what}", position)


def next_item(text: str, position: int, closing: str) -> int:
    """The index of the next item of a list, or of the closing bracket.

    Raises:
        JsonProblem: Neither a comma nor the bracket stands there.
    """
    position = skip_space(text, position)
    if text.startswith(",", position):
        return skip_space(text, position + 1)
    if not text.startswith(closing, position):
        raise JsonProblem(f"Expecting ',' or {closing!r}", position)
    return position
