"""Readable errors for values that are not valid under a JSON Schema or a pydantic model.

`jsonschema-rs` validates schemas. Only for invalid values, `jsonschema` is imported to find the most relevant error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

_LONGEST_VALUE = 80


class SchemaProblem(NamedTuple):
    """One violation of a schema.

    Attributes:
        place: Path of keys and indices to the invalid part, joined by dots; empty for the whole value.
        message: What is wrong.
        fix: How to correct it, as far as the schema tells.
    """

    place: str
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def schema_problems(schema: Mapping[str, Any], value: Any) -> Iterator[SchemaProblem]:
    """Find all schema violations of a value.

    Args:
        schema: JSON Schema (draft 2020-12).
        value: Any JSON value.

    Yields:
        The violations, sorted by path.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    for error in sorted(Draft202012Validator(schema).iter_errors(value), key=lambda one: list(map(str, one.path))):
        yield _problem(best_match([error]))


def most_relevant_problem(schema: Mapping[str, Any], value: Any) -> SchemaProblem:
    """Find the violation that best explains why a value is invalid.

    Args:
        schema: JSON Schema (draft 2020-12).
        value: An invalid value.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    return _problem(best_match(Draft202012Validator(schema).iter_errors(value)))


def schema_mistake(schema: Any, error: Exception) -> str:
    """Describe why a value is not a valid JSON Schema.

    Args:
        schema: The invalid schema.
        error: The error of `jsonschema-rs`; used if the metaschema finds no violation, as with a broken reference.
    """
    from jsonschema import Draft202012Validator

    found = next(schema_problems(Draft202012Validator.META_SCHEMA, schema), None)
    return str(error) if found is None else str(found)


def first_mistake(error: ValidationError) -> str:
    """The first error of a pydantic model in one line: the place, what is wrong, and the value."""
    detail = error.errors(include_url=False)[0]
    place = ".".join(map(str, detail["loc"]))
    message = detail["msg"].removeprefix("Value error, ")
    return f"{place}: {message}, got {detail['input']!r:.80}" if place else message


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
