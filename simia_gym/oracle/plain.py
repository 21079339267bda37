"""Answers prompts that address none of the environment's roles, such as the probes of ``simia doctor``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MOST_DEPTH = 16


def plain_text(seed: Any, key: int) -> str:
    """A short text, determined by the prompt's hash and the request's seed."""
    return f"The oracle hears you ({key % 0xFFFF:04x}, seed {seed})."


def instance_of(schema: Any, root: Mapping[str, Any] | None = None, depth: int = 0) -> Any:
    """A small value that is valid under a JSON Schema; covers the keywords that reply schemas use.

    Args:
        schema: The schema.
        root: The schema that ``$ref`` points into; by default the schema itself.
        depth: Depth of the recursion.
    """
    if not isinstance(schema, Mapping) or depth > _MOST_DEPTH:
        return None
    root = schema if root is None else root
    if "$ref" in schema:
        target: Any = root
        for part in str(schema["$ref"]).removeprefix("#/").split("/"):
            target = target.get(part) if isinstance(target, Mapping) else None
        return instance_of(target, root, depth + 1)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for name in ("anyOf", "oneOf", "allOf"):
        if schema.get(name):
            return instance_of(schema[name][0], root, depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    if kind == "object" or (kind is None and "properties" in schema):
        properties = schema.get("properties", {})
        return {name: instance_of(properties.get(name, {}), root, depth + 1) for name in schema.get("required", ())}
    if kind == "array":
        return [instance_of(schema.get("items", {}), root, depth + 1) for _ in range(schema.get("minItems", 0))]
    if kind == "string":
        return "o" * max(2, schema.get("minLength", 0)) if schema.get("maxLength", 2) >= 2 else ""
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    return False if kind == "boolean" else None
