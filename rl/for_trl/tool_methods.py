"""Creates Python methods from a domain's tools, since TRL expects tools as typed, documented methods.

TRL passes methods to `transformers.utils.get_json_schema`, which reads their signature and their Google-style
docstring. This module creates both from the tool's JSON Schema. What a signature cannot express, such as the fields of
an object, is added to the description. A tool or argument whose name Python or TRL does not allow is renamed in the
method; the tool call has the original name.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union

from simia_gym.actions.signatures import function_of, resolve, type_name
from simia_gym.types import Action, Calls, JsonObject, ToolCall

RESERVED = ("reset", "get_reward", "episode_rows", "suite", "episode", "method_names", "text_names")
"""Names that TRL or the environment class uses."""

_PLAIN: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": type(None),
    "object": dict,
}
_SECTIONS = re.compile(r"\b(Args|Returns|Raises):")
_CHOICES = re.compile(r"\(choices:", re.IGNORECASE)
_MOST_DEPTH = 5

Act = Callable[[Any, Action], str]
"""Executes an action: takes the environment and the action, returns the environment's text."""


@dataclass(frozen=True)
class Argument:
    """One argument of a tool, with its name in Python and in the tool's schema."""

    name: str
    tool_name: str
    hint: Any
    required: bool
    description: str


def tool_methods(tools: Sequence[JsonObject], act: Act, taken: Collection[str] = ()) -> dict[str, Callable[..., str]]:
    """Create a method for each of OpenAI's tool schemas, by name; ``taken`` are names that no method may have."""
    methods: dict[str, Callable[..., str]] = {}
    for tool in tools:
        function = function_of(tool)
        name = python_name(str(function["name"]), "tool", {*RESERVED, *taken, *methods})
        methods[name] = _call_method(name, function, act)
    return methods


def text_method(name: str, argument: str, description: str, about: str, act: Callable[[Any, str], str]) -> Any:
    """Create a method with one text argument, for an action that is no tool call."""

    def method(self: Any, /, **arguments: Any) -> str:
        unknown = sorted(set(arguments) - {argument})
        if unknown or not isinstance(arguments.get(argument), str):
            return f"Error: {name} takes one argument, {argument}, and it is a text."
        return act(self, arguments[argument])

    return _signed(method, name, description, [Argument(argument, argument, str, True, about)])


def python_name(name: str, prefix: str, taken: Collection[str]) -> str:
    """An unused public Python name; the name itself if possible, else ``prefix_...`` or with a number."""
    made = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not made or made[0] == "_" or made[0].isdigit():
        made = f"{prefix}_{made.lstrip('_')}"
    if keyword.iskeyword(made):
        made = f"{made}_"
    if made in taken:
        made = f"{made}_{prefix}"
    base, number = made, 2
    while made in taken:
        made, number = f"{base}_{number}", number + 1
    return made


def type_hint(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    """The Python type of a JSON Schema, for a signature; references are resolved in ``root``."""
    part = resolve(schema, root)
    if depth > _MOST_DEPTH:
        return Any
    if "const" in part or isinstance(part.get("enum"), list):
        values = [part["const"]] if "const" in part else part["enum"]
        if values and all(type(value) in (str, int, bool, type(None)) for value in values):
            return Literal[tuple(values)]
    options = part.get("anyOf") or part.get("oneOf")
    if isinstance(options, list) and options:
        return Union[tuple(type_hint(option, root, depth + 1) for option in options)]  # noqa: UP007 - made at run time
    kind = part.get("type")
    if isinstance(kind, list) and kind:
        return Union[tuple(type_hint({**part, "type": one}, root, depth + 1) for one in kind)]  # noqa: UP007
    if kind == "array":
        inner: Any = type_hint(part.get("items", {}), root, depth + 1)
        return list if inner is Any else list[inner]
    return _PLAIN.get(str(kind), Any)


def _call_method(name: str, function: Mapping[str, Any], act: Act) -> Callable[..., str]:
    tool = str(function["name"])
    arguments = _arguments(function.get("parameters") or {})
    own_names = {argument.name: argument.tool_name for argument in arguments}

    def method(self: Any, /, **given: Any) -> str:
        # The environment checks the arguments and answers with its own error messages.
        return act(self, Calls((ToolCall(tool, {own_names.get(key, key): value for key, value in given.items()}),)))

    return _signed(method, name, str(function.get("description") or ""), arguments)


def _arguments(schema: Mapping[str, Any]) -> list[Argument]:
    required = set(schema.get("required", ()))
    found: list[Argument] = []
    for tool_name, part in schema.get("properties", {}).items():
        taken = {"self", "return", *(argument.name for argument in found)}
        name = python_name(str(tool_name), "argument", taken)
        resolved = resolve(part, schema)
        about = str(part.get("description") or resolved.get("description") or f"The {tool_name}.")
        if _has_fields(resolved, schema):
            about = f"{about.rstrip('.')}: {type_name(part, schema)}"
        found.append(Argument(name, str(tool_name), type_hint(part, schema), tool_name in required, about))
    # Optional parameters must come last in a signature.
    return sorted(found, key=lambda argument: not argument.required)


def _has_fields(schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Whether a schema declares fields of objects, which the type ``dict`` cannot express."""
    items = resolve(schema.get("items", {}), root)
    options = schema.get("anyOf") or schema.get("oneOf") or ()
    return bool(schema.get("properties") or items.get("properties")) or any(
        _has_fields(resolve(option, root), root) for option in options
    )


def _signed(
    method: Callable[..., str], name: str, description: str, arguments: Sequence[Argument]
) -> Callable[..., str]:
    """Set the name, signature and docstring of a function."""
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    for argument in arguments:
        default = inspect.Parameter.empty if argument.required else None
        parameters.append(inspect.Parameter(argument.name, keyword_only, default=default, annotation=argument.hint))
    hints = {argument.name: argument.hint for argument in arguments}
    lines = [_plain(description.strip()) or f"Call {name}."]
    if arguments:
        lines += ["", "Args:"]
        lines += [f"    {argument.name}: {_plain(' '.join(argument.description.split()))}" for argument in arguments]
    method.__name__ = method.__qualname__ = name
    method.__doc__ = "\n".join(lines)
    method.__annotations__ = hints  # without "return", which would only lengthen every prompt
    method.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return method


def _plain(text: str) -> str:
    """Remove what would be parsed as a section of a docstring."""
    return _CHOICES.sub("(one of:", _SECTIONS.sub(r"\1 :", text))
