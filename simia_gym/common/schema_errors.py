"""Readable errors for values that are not valid under a JSON Schema, and for values that are no JSON Schema.

`jsonschema-rs` validates. Only for invalid values, `jsonschema` is imported to find the most relevant error.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import jsonschema_rs

_LONGEST_VALUE = 80
_MOST = 100
"""Violations of which the most relevant one is told; a value of a model may have millions."""


def most_relevant_problem(schema: Mapping[str, Any], value: Any) -> str:
    """Describe the violation that best explains why a value is invalid, after its place: ``a.0.b: ...``."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error: Any = best_match(islice(Draft202012Validator(schema).iter_errors(value), _MOST))
    shown = repr(error.instance)
    message: str = error.message
    if len(shown) > _LONGEST_VALUE:
        message = message.replace(shown, f"{shown[:_LONGEST_VALUE]}...")
    place = ".".join(map(str, error.absolute_path))
    return f"{place}: {message}" if place else message


def json_schema_validator(schema: Any) -> jsonschema_rs.Validator:
    """Compile a JSON Schema.

    Raises:
        ValueError: It is not a JSON Schema; says why.
    """
    try:
        return jsonschema_rs.validator_for(schema)
    except (ValueError, TypeError) as error:
        from jsonschema import Draft202012Validator

        rules = Draft202012Validator.META_SCHEMA
        # A broken reference does not violate the metaschema.
        fits = Draft202012Validator(rules).is_valid(schema)
        what = str(error).partition("\n")[0] if fits else most_relevant_problem(rules, schema)
        raise ValueError(f"this is not a JSON Schema: {what}") from error
