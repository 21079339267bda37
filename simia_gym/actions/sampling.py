"""Plausible arguments for a JSON Schema, drawn with a seeded generator."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.actions.signatures import function_of, resolve
from simia_gym.types import JsonObject, Message

_WORDS = ("one", "blue", "large", "order", "first", "standard", "2024-05-15", "user@example.com", "1001", "Main Street")
_VALUE = re.compile(r"#?\b[\w.@-]*\d[\w.@-]*")
_LOOK_BACK, _KEEP, _READ = 4, 40, 4000
_MAX_DEPTH = 5


def sample_call(rng: random.Random, tools: Sequence[JsonObject], seen: Sequence[str] = ()) -> tuple[str, JsonObject]:
    """Draw a tool, and arguments that match its schema; strings may be those that were seen in the conversation."""
    function = function_of(rng.choice(tools))
    schema = function.get("parameters") or {}
    value = sample_value(rng, {"type": "object", **schema}, schema, seen)
    return str(function["name"]), value if isinstance(value, dict) else {}


def sample_value(rng: random.Random, schema: Any, root: Mapping[str, Any], seen: Sequence[str], depth: int = 0) -> Any:
    """Draw one value for a schema; unknown keywords are ignored."""
    part = resolve(schema, root)
    if "const" in part:
        return part["const"]
    if isinstance(part.get("enum"), list) and part["enum"]:
        return rng.choice(part["enum"])
    options = part.get("anyOf") or part.get("oneOf")
    if isinstance(options, list) and options:
        return sample_value(rng, rng.choice(options), root, seen, depth + 1)
    kind = part.get("type", "string")
    if isinstance(kind, list):
        kind = rng.choice(kind)
    if kind == "object":
        required, properties = part.get("required", ()), part.get("properties", {})
        return {
            name: sample_value(rng, inner, root, seen, depth + 1)
            for name, inner in properties.items()
            if name in required or (depth < _MAX_DEPTH and rng.random() < 0.5)
        }
    if kind == "array":
        least = int(part.get("minItems", 0 if depth > _MAX_DEPTH else 1))
        items = part.get("items", {})
        return [sample_value(rng, items, root, seen, depth + 1) for _ in range(least + rng.randrange(2))]
    if kind in ("integer", "number"):
        low = float(part.get("minimum", part.get("exclusiveMinimum", 0)))
        high = float(part.get("maximum", part.get("exclusiveMaximum", low + 10)))
        if kind == "integer":
            return rng.randint(int(low), max(int(low), int(high)))
        return round(rng.uniform(low, high), 2)
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "null":
        return None
    examples = part.get("examples")
    if isinstance(examples, list) and examples and rng.random() < 0.5:
        return str(rng.choice(examples))
    return rng.choice(seen if seen and rng.random() < 0.7 else _WORDS)


def seen_values(messages: Sequence[Message]) -> list[str]:
    """Identifiers and numbers in the last few messages, newest last."""
    found: dict[str, None] = {}
    for message in messages[-_LOOK_BACK:]:
        content = message.get("content")
        if isinstance(content, str) and message.get("role") != "system":
            found.update(dict.fromkeys(_VALUE.findall(content[:_READ])))
    return list(found)[-_KEEP:]
