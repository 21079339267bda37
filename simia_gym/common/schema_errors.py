"""Errors that people read about values that break a JSON Schema.

`jsonschema-rs` decides whether a value is valid. If it is not, `jsonschema` finds the most relevant error; it is loaded
only then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_LONGEST_VALUE = 80


class SchemaProblem(NamedTuple):
    """One place at which a value breaks its schema.

    Attributes:
        place: Keys and indices from the value to that place, joined by dots; empty for the value itself.
        message: What is wrong there.
        fix: What would be right, as far as the schema says it.
    """

    place: str
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def schema_problems(schema: Mapping[str, Any], value: Any) -> Iterator[SchemaProblem]:
    """Every error of a value.

    Args:
        schema: JSON Schema (draft 2020-12).
        value: Any JSON value.

    Yields:
        The errors, by place.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    for error in sorted(Draft202012Validator(schema).iter_errors(value), key=lambda one: list(map(str, one.path))):
        yield _problem(best_match([error]))


def most_relevant_problem(schema: Mapping[str, Any], value: Any) -> SchemaProblem:
    """The error that explains best why a value is not valid.

    Args:
        schema: JSON Schema (draft 2020-12).
        value: A value that breaks it.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    return _problem(best_match(Draft202012Validator(schema).iter_errors(value)))


def schema_mistake(schema: Any, error: Exception) -> str:
    """Say why something is not a JSON Schema.

    Args:
        schema: What was given as a schema.
        error: What `jsonschema-rs` said of it; counts where the metaschema finds nothing, as with a broken reference.
    """
    from jsonschema import Draft202012Validator

    found = next(schema_problems(Draft202012Validator.META_SCHEMA, schema), None)
    return str(error) if found is None else str(found)


def _problem(error: Any) -> SchemaProblem:
    shown = repr(error.instance)
    message = error.message
    if len(shown) > _LONGEST_VALUE:
        message = message.replace(shown, f"{shown[:_LONGEST_VALUE]}...")
    description = error.schema.get("description") if isinstance(error.schema, dict) else None
    if error.validator == "additionalProperties" and "properties" in error.schema:
        fix = f"Keys: {', '.join(error.schema['properties'])}."
    else:
        fix = f"Write {description}." if description else "Change it."
    return SchemaProblem(".".join(map(str, error.absolute_path)), message, fix)
