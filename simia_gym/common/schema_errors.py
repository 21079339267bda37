"""Readable errors for values that are not valid under a JSON Schema, and for values that are no JSON Schema.

`jsonschema-rs` decides what is valid, in the draft that the schema names. Only for invalid values, `jsonschema` is
imported to find the most relevant error; where the two disagree, the error is that of `jsonschema-rs`. A schema stands
alone: nothing outside it is read, whatever its references say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs

from simia_gym.common.json_encoding import encode

_LONGEST_VALUE = 80
_MOST = 100
"""Violations of which the most relevant one is told; a value of a model may have millions."""
_OUTSIDE = re.compile(r"^(?:Resource|Unknown meta-schema:) '([^']*)'")


def most_relevant_problem(schema: Mapping[str, Any], value: Any) -> str:
    """Describe the violation that best explains why a value is invalid, after its place: ``a.0.b: ...``."""
    shown, message, path = _best(schema, value)
    if len(shown) > _LONGEST_VALUE:
        message = message.replace(shown, f"{shown[:_LONGEST_VALUE]}...")
    place = ".".join(map(str, path))
    return f"{place}: {message}" if place else message


def json_schema_validator(schema: Any) -> jsonschema_rs.Validator:
    """Compile a JSON Schema.

    Raises:
        ValueError: It is not a JSON Schema, or refers to something outside it; says why.
    """
    try:
        return jsonschema_rs.validator_for(schema, retriever=_refuse)
    except (ValueError, TypeError) as error:
        if outside := _OUTSIDE.search(str(error)):
            what = f"it refers to {outside[1]!r}, which is outside it and is not read; put what it needs into its $defs"
            raise ValueError(what) from error
        raise ValueError(f"this is not a JSON Schema: {_why_none(schema, str(error))}") from error


def _refuse(address: str) -> NoReturn:
    """Read nothing, whether it is an address or a file."""
    raise ValueError(f"{address} is not read")


def _best(schema: Mapping[str, Any], value: Any) -> tuple[str, str, list[str | int]]:
    """The invalid part as the message shows it, what is wrong with it, and its place."""
    from jsonschema.exceptions import best_match
    from referencing.jsonschema import EMPTY_REGISTRY

    try:
        # With a registry of its own, it fetches nothing.
        validator = _draft(schema)(schema, registry=EMPTY_REGISTRY)
        found: Any = best_match(islice(validator.iter_errors(value), _MOST))
    except Exception:  # patterns that `re` does not know, values nested too deeply
        found = None
    if found is not None:
        return repr(found.instance), found.message, list(found.absolute_path)
    first = next(iter(json_schema_validator(schema).iter_errors(value)), None)
    if first is None:
        return "", "it is valid", []
    return encode(first.instance).decode(), first.message, list(first.instance_path)


def _draft(schema: Any) -> Any:
    """The validator class of `jsonschema` for the draft that a schema names."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    named = isinstance(schema, Mapping) and isinstance(schema.get("$schema"), str)
    return validator_for(schema, default=Draft202012Validator) if named else Draft202012Validator


def _why_none(schema: Any, error: str) -> str:
    """Why a value is not a JSON Schema; a broken reference does not violate the metaschema."""
    meta = _draft(schema).META_SCHEMA
    try:
        fits = jsonschema_rs.validator_for(meta).is_valid(schema)
    except (ValueError, TypeError):
        fits = True
    return error.partition("\n")[0] if fits else most_relevant_problem(meta, schema)
