"""Brings a database of the public benchmark into the form of a domain's own, which its state schema describes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simia_gym.common.files import read_json
from simia_gym.common.schema_errors import json_schema_validator, most_relevant_problem
from simia_gym.errors import InputError
from simia_gym.types import JsonObject

Tables = dict[str, dict[str, JsonObject]]


def fitted(tables: Mapping[str, Mapping[str, JsonObject]], schema: Path, where: str) -> Tables:
    """Bring tables into the form of a ``state.schema.json``, and check their rows.

    Where the schema allows any number, a whole one becomes a float, as in the benchmark's code; a field that may be
    null and is missing is null; fields that the schema does not have are left out.

    Args:
        tables: The tables.
        schema: The file.
        where: The file of the tables, for error messages.

    Raises:
        InputError: Something does not fit; names the place.
    """
    rules = read_json(schema)["tables"]
    for name in sorted(rules.keys() ^ tables.keys()):
        what = "the table is missing" if name in rules else "there is no such table"
        raise InputError(what, where=f"{where}: {name}", fix=f"The tables are: {', '.join(rules)}.")
    return {name: _rows(tables[name], rules[name], f"{where}: {name}") for name in rules}


def _rows(rows: Mapping[str, JsonObject], rules: Any, where: str) -> dict[str, JsonObject]:
    check, field = json_schema_validator(rules["row"]), rules.get("key")
    found = {}
    for key, given in rows.items():
        found[key] = row = _fitted(given, rules["row"])
        what = "" if check.is_valid(row) else most_relevant_problem(rules["row"], row)
        if not what and field is not None and row[field] != key:
            what = f"{field} is {row[field]!r}, but its row is kept as {key!r}"
        if what:
            raise InputError(what, where=f"{where}.{key}", fix="Correct it there.")
    return found


def _fitted(value: Any, rules: Any) -> Any:
    if isinstance(value, list):
        return [_fitted(item, rules.get("items", {})) for item in value]
    if not isinstance(value, dict):
        return float(value) if type(value) is int and "number" in rules.get("type", ()) else value
    fields = next((one["properties"] for one in rules.get("oneOf", [rules]) if _is_of(value, one)), None)
    if fields is None:
        return {key: _fitted(item, rules.get("additionalProperties", {})) for key, item in value.items()}
    return {
        name: _fitted(value.get(name), part)
        for name, part in fields.items()
        if name in value or None in part.get("enum", ()) or "null" in part.get("type", ())
    }


def _is_of(value: JsonObject, rules: Any) -> bool:
    """Whether a schema lists its fields, and an object has those that are constant."""
    constants = {key: part["const"] for key, part in rules.get("properties", {}).items() if "const" in part}
    return "properties" in rules and all(value.get(key) == right for key, right in constants.items())
