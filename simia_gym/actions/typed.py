"""Reads what a person types as an action: a call in a simple form, or the grammar's own text.

A call is ``name key=value ...`` or JSON, in every grammar. A value is JSON, a text in quotes, or a bare text that ends
where the next key begins; of a list, bare items have commas between them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.actions.base import Grammar
from simia_gym.actions.signatures import function_of
from simia_gym.actions.strict_json import JsonProblem, decode_all, decode_at
from simia_gym.actions.tools_grammar import ToolsGrammar
from simia_gym.common.schema_errors import json_schema_validator, most_relevant_problem
from simia_gym.errors import ActionError, InputError, did_you_mean
from simia_gym.state.frozen import thaw
from simia_gym.types import Calls, JsonObject, ToolCall

_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_KEY = re.compile(r"\s+([A-Za-z_]\w*)=")
_JSON_CALLS = ToolsGrammar()


def read_typed(text: str, grammar: Grammar, tools: Sequence[JsonObject]) -> str:
    """The action that a person has typed, as a text of the grammar.

    Args:
        text: What was typed.
        grammar: The grammar of the domain.
        tools: The tools in OpenAI's format.

    Raises:
        ActionError: The grammar cannot read it.
        InputError: It is a call of no tool, or one whose arguments do not fit; says what is wrong.
    """
    known = {str(function["name"]): thaw(function) for function in map(function_of, tools)}
    typed = text.strip()
    call = _named_call(typed, known)
    if call is not None:
        _check(call, known)
        return grammar.render(Calls((call,)))
    if typed.startswith(("{", "[")):
        try:
            found = _JSON_CALLS.parse(typed)
        except ActionError:
            grammar.parse(text)  # a grammar may have JSON of its own; else this says what it needs
        else:
            if isinstance(found, Calls):
                for one in found.calls:
                    _check(one, known)
                return grammar.render(Calls(found.calls))
    action = grammar.parse(text)
    for one in action.calls if isinstance(action, Calls) else ():
        _check(one, known)
    return text


def begins_call(text: str) -> bool:
    """Whether a line is meant as a call, ``name key=value`` or JSON, that the next line does not go on with."""
    name = _NAME.match(text)
    return text.startswith(("{", "[")) or (name is not None and _KEY.match(text, name.end()) is not None)


def _named_call(text: str, known: Mapping[str, Any]) -> ToolCall | None:
    """``name key=value ...``, or the name alone of a tool; ``None`` if it is anything else."""
    match = _NAME.match(text)
    if match is None:
        return None
    name, rest = match.group(), text[match.end() :]
    if not rest.strip():
        return ToolCall(name, {}) if name in known else None
    if _KEY.match(rest) is None:
        if name in known and "_" in name and rest[0].isspace():
            raise InputError(f"{name} has no KEY=VALUE behind it", fix=_form(name, known))
        return None
    if name not in known:
        hint = did_you_mean(name, known)
        fix = f"{hint}`?` lists the tools; `say TEXT` is a message all the same."
        raise InputError(f"there is no tool {name!r}", fix=fix)
    parameters = known[name].get("parameters") or {}
    return ToolCall(name, _arguments(rest, name, parameters))


def _arguments(text: str, name: str, parameters: JsonObject) -> JsonObject:
    properties = parameters.get("properties", {})
    found: JsonObject = {}
    position = 0
    while position < len(text):
        key = _KEY.match(text, position)
        if key is None:
            raise InputError(f"of {name}, {text[position:].strip()!r} is no KEY=VALUE", fix="Put a text into quotes.")
        if key[1] in found:
            raise InputError(f"{name} has {key[1]} twice", fix="Give each argument once.")
        schema = {**properties.get(key[1], {}), "$defs": parameters.get("$defs", {})}
        found[key[1]], position = _value(text, key.end(), schema, properties)
    return found


def _value(text: str, begin: int, schema: JsonObject, properties: Mapping[str, Any]) -> tuple[Any, int]:
    """A value and the index behind it."""
    first = text[begin : begin + 1]
    if first in ('"', "[", "{") and first:
        try:
            return decode_at(text, begin)
        except JsonProblem as problem:
            raise InputError(f"{text[begin:]!r} is not valid JSON: {problem.message}", fix="Mend it.") from None
    if first == "'" and (end := text.find("'", begin + 1)) > 0:
        return text[begin + 1 : end], end + 1
    ends = (key.start() for key in _KEY.finditer(text, begin) if key[1] in properties)
    end = next(ends, len(text))
    return _plain(text[begin:end].strip(), schema), end


def _plain(text: str, schema: JsonObject) -> Any:
    """A bare value, as what the schema takes: a text, else what it is as JSON, else a list."""
    accepted = json_schema_validator(schema).is_valid
    if accepted(text):
        return text
    try:
        value = decode_all(text)
    except JsonProblem:
        value = text
    items = schema.get("items", {})
    inner = {**items, "$defs": schema.get("$defs", {})} if isinstance(items, Mapping) else {}
    several = [_plain(part.strip(), inner) for part in text.split(",") if part.strip()]
    return next((one for one in (value, several) if accepted(one)), value)


def _check(call: ToolCall, known: Mapping[str, Any]) -> None:
    """Check that a call is of a tool and fits its parameters."""
    if call.name not in known:
        raise InputError(f"there is no tool {call.name!r}", fix=f"{did_you_mean(call.name, known)}`?` lists the tools.")
    schema = known[call.name].get("parameters") or {}
    arguments = thaw(call.arguments)
    if not json_schema_validator(schema).is_valid(arguments):
        raise InputError(f"{call.name}: {most_relevant_problem(schema, arguments)}", fix=_form(call.name, known))


def _form(name: str, known: Mapping[str, Any]) -> str:
    schema = known[name].get("parameters") or {}
    required = schema.get("required", ())
    keys = (f"{key}=..." if key in required else f"[{key}=...]" for key in schema.get("properties", {}))
    return f"Write {' '.join((name, *keys))}."
