"""What a tool may write, as a schema for the values of its operations, from the schema of the state.

A value without a declared form is hard on the engines that hold a model to a schema: some can write only fragments of
it, and OpenAI's strict mode refuses it. Where the state's schema says what stands at every place that a tool may write,
the values are exactly those forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from simia_gym.common.json_encoding import encode
from simia_gym.llm.types import ANY_VALUE
from simia_gym.state.schema import StateSchema
from simia_gym.types import JsonObject

MAX_LIST = 1_000
"""Most items of a list within a value."""
_MOST = 40
"""Most forms of a tool's values; with more of them, a value may be anything."""
_SCALARS = {"string": str, "integer": int, "boolean": bool, "null": type(None)}
"""The kinds of enumerated values."""
_KNOWN = frozenset({"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"})
_KNOWN |= {"oneOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "format"}
_KNOWN |= {"minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "description", "title"}


class _Unknown(Exception):
    """A place has no form that every engine can hold a model to."""


def value_form(writes: Iterable[str], schema: StateSchema | None, longest: int) -> JsonObject:
    """The schema of the values that a tool may write.

    Args:
        writes: Its patterns of places.
        schema: The schema of the state.
        longest: Most characters of a text.

    Returns:
        The forms of all values at and below these places, or `ANY_VALUE` if one of them is not declared as a scalar,
        a list, or an object with fixed keys.
    """
    try:
        found = {encode(one): one for pattern in writes for one in _forms(pattern, schema, longest)}
    except _Unknown:
        return ANY_VALUE
    forms = list(found.values())
    if {"type": "number"} in forms:
        forms = [one for one in forms if one != {"type": "integer"}]
    if not forms or len(forms) > _MOST:
        return ANY_VALUE
    return _one_of(forms)


def _forms(pattern: str, schema: StateSchema | None, longest: int) -> Iterator[JsonObject]:
    table, *steps = pattern.split("/")
    rules = None if schema is None else schema.tables.get(table)
    if rules is None or rules.shape is None:
        raise _Unknown
    nodes = list(_branches(rules.shape))
    for step in steps[1:]:
        nodes = [inner for node in nodes for child in _children(node, step) for inner in _branches(child)]
        if not nodes:
            raise _Unknown
    for node in nodes:
        for one in _below(node):
            yield _form(one, longest)


def _branches(node: Any) -> Iterator[JsonObject]:
    if not isinstance(node, Mapping) or not node.keys() <= _KNOWN:
        raise _Unknown
    inner = node.get("anyOf", node.get("oneOf"))
    if inner is None:
        yield dict(node)
    else:
        for one in inner:
            yield from _branches(one)


def _children(node: JsonObject, step: str | None = None) -> Iterator[Any]:
    """The schemas of what stands in a value under a step of a pattern, or under any."""
    properties = node.get("properties", {})
    name = None if step is None or "*" in step else step.replace("~1", "/").replace("~0", "~")
    if name is None:
        yield from properties.values()
    elif name in properties:
        yield properties[name]
        return
    for further in ("additionalProperties", "items"):
        if isinstance(node.get(further), Mapping):
            yield node[further]


def _below(node: JsonObject) -> Iterator[JsonObject]:
    """A schema and those of everything within it."""
    yield node
    for child in _children(node):
        for inner in _branches(child):
            yield from _below(inner)


def _form(node: JsonObject, longest: int) -> JsonObject:
    """A schema in the words that all engines know."""
    if "enum" in node or "const" in node:
        options = list(node["enum"]) if "enum" in node else [node["const"]]
        if not all(type(one) in _SCALARS.values() for one in options):
            raise _Unknown
        # One form for each kind: of an enumeration with several, lm-format-enforcer writes nothing.
        kinds = {name: [one for one in options if type(one) is kind] for name, kind in _SCALARS.items()}
        return _one_of([_enumerated(name, some) for name, some in kinds.items() if some])
    kind = node.get("type")
    if isinstance(kind, list):
        return _one_of([_form({**node, "type": one}, longest) for one in kind])
    if kind == "string":
        return {"type": "string", "maxLength": longest}
    if kind == "array":
        return {"type": "array", "items": _any_of(node.get("items"), longest), "maxItems": MAX_LIST}
    if kind == "object":
        properties = node.get("properties", {})
        if not properties or node.get("additionalProperties") is not False:
            raise _Unknown
        if set(node.get("required", ())) != set(properties):
            raise _Unknown
        inner = {name: _any_of(one, longest) for name, one in properties.items()}
        return {"type": "object", "properties": inner, "required": list(inner), "additionalProperties": False}
    if kind not in (*_SCALARS, "number"):
        raise _Unknown
    return {"type": kind}


def _enumerated(kind: str, options: list[Any]) -> JsonObject:
    return {"type": kind, "enum": options} if kind in ("string", "integer") else {"type": kind}


def _any_of(node: Any, longest: int) -> JsonObject:
    return _one_of([_form(one, longest) for one in _branches(node)])


def _one_of(forms: list[JsonObject]) -> JsonObject:
    return forms[0] if len(forms) == 1 else {"anyOf": forms}
