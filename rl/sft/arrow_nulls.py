"""Takes out of tool calls the nulls that Arrow puts there.

A column of Arrow has one type. Where calls of several tools stand in one column, each gets the arguments of all the
others, as nulls; the same happens to objects in a list. A schema says which of them the call had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.actions.signatures import function_of, resolve
from simia_gym.errors import InputError

_NONE: Mapping[str, Any] = {"properties": {}}
_FIX = "Write the arguments as JSON texts, as OpenAI does, or the file as JSON lines."


def without_padding(message: Mapping[str, Any], tools: Sequence[Mapping[str, Any]], where: str) -> dict[str, Any]:
    """A message without the nulls that its calls did not have.

    A null stays where the schema asks for the argument and allows null. It goes where the schema has no such argument,
    or allows no null.

    Args:
        message: A message of a Parquet file.
        tools: The tools' schemas in OpenAI's format; empty if they are not known.
        where: Name of the row.

    Raises:
        InputError: It is not known whether the call had a null.
    """
    calls = message.get("tool_calls")
    if not isinstance(calls, Sequence):
        return dict(message)
    schemas = {str(function_of(tool).get("name")): function_of(tool).get("parameters") or _NONE for tool in tools}
    return {**message, "tool_calls": [_call(call, schemas, where) for call in calls]}


def _call(call: Any, schemas: Mapping[str, Mapping[str, Any]], where: str) -> Any:
    if not isinstance(call, Mapping):
        return call
    inner = call.get("function")
    if isinstance(inner, Mapping):
        rest = {key: value for key, value in call.items() if value is not None}
        return {**rest, "function": _call(inner, schemas, where)}
    found = {key: value for key, value in call.items() if value is not None}
    schema = schemas.get(str(found.get("name")))
    for key in ("arguments", "parameters"):
        if key in found:
            name = str(found.get("name"))
            found[key] = _value(found[key], schema, schema or {}, where, name)
    return found


def _value(value: Any, schema: Any, root: Mapping[str, Any], where: str, name: str) -> Any:
    """A value without padding; ``schema`` is ``None`` where nothing is known of it, ``name`` says where it stands."""
    if isinstance(value, list):
        forms = () if schema is None else _forms(schema, root)
        items = next((form["items"] for form in forms if "items" in form), None)
        return [_value(item, items, root, where, f"{name}[{place}]") for place, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    forms = () if schema is None else _forms(schema, root)
    declared: dict[str, Any] = {}
    for form in forms:
        declared |= form.get("properties") or {}
    # What a schema does not list may still be the call's own where the schema lists nothing, or lets in anything.
    more = [form["additionalProperties"] for form in forms if "additionalProperties" in form]
    closed = not any(more) and (bool(more) or any("properties" in form for form in forms))
    required = {key for form in forms for key in form.get("required") or ()}
    kept: dict[str, Any] = {}
    for key, item in value.items():
        place = f"{name}.{key}"
        if item is not None:
            kept[key] = _value(item, declared.get(key), root, where, place)
        elif key in declared and _allows_null(declared[key], root):
            if key not in required:
                raise _unclear(where, place, "its schema allows null and leaving it out")
            kept[key] = None
        elif key not in declared and not closed:
            raise _unclear(where, place, "no schema says so")
    return kept


def _forms(schema: Any, root: Mapping[str, Any], depth: int = 0) -> tuple[Mapping[str, Any], ...]:
    """A schema and the alternatives in it."""
    part = resolve(schema, root)
    parts = [item for key in ("anyOf", "oneOf", "allOf") for item in part.get(key) or ()] if depth < 4 else []
    return (part, *(form for item in parts for form in _forms(item, root, depth + 1)))


def _allows_null(schema: Any, root: Mapping[str, Any]) -> bool:
    for form in _forms(schema, root):
        kinds = form.get("type")
        if kinds == "null" or (isinstance(kinds, list) and "null" in kinds) or form.get("nullable"):
            return True
        if None in (form.get("enum") or ()) or ("const" in form and form["const"] is None):
            return True
    return not resolve(schema, root)


def _unclear(where: str, place: str, why: str) -> InputError:
    what = f"{place} is null, which Arrow may have put there: {why}"
    return InputError(what, where=where, fix=_FIX)
