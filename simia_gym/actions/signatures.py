"""Tool schemas as text for a prompt: the Hermes ``<tools>`` block, and a compact line for each tool."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.types import JsonObject

_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)
_NAMED = ("properties", "$defs", "patternProperties", "definitions")


def without_keywords(node: Any, prefix: str | tuple[str, ...], *, names: bool = False) -> Any:
    """Copy a schema without keywords that begin so; keys of ``properties`` and the like are names and stay."""
    if isinstance(node, Mapping):
        return {
            key: without_keywords(value, prefix, names=not names and key in _NAMED)
            for key, value in node.items()
            if names or not str(key).startswith(prefix)
        }
    if isinstance(node, list | tuple):
        return [without_keywords(item, prefix) for item in node]
    return node


def hermes_block(tools: Sequence[JsonObject]) -> str:
    """The ``<tools>`` block: one JSON object per line."""
    lines = [json.dumps(without_keywords(tool, "x-"), ensure_ascii=False) for tool in tools]
    return "\n".join(["<tools>", *lines, "</tools>"])


def compact_block(tools: Sequence[JsonObject]) -> str:
    """One line per tool: ``name(argument: type, optional?: type) - first sentence of its description``."""
    lines = []
    for tool in tools:
        function = function_of(tool)
        schema = function.get("parameters") or {}
        required = schema.get("required", ())
        arguments = [
            f"{name}{'' if name in required else '?'}: {type_name(part, schema)}"
            for name, part in schema.get("properties", {}).items()
        ]
        description = " ".join(str(function.get("description", "")).split())
        sentence = _SENTENCE.match(description)
        about = sentence.group(1) if sentence else description
        lines.append(f"- {function['name']}({', '.join(arguments)})" + (f" - {about}" if about else ""))
    return "\n".join(lines)


def function_of(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """The ``function`` object of an OpenAI tool dictionary; a bare function object is returned unchanged."""
    inner = tool.get("function")
    return inner if isinstance(inner, Mapping) else tool


def resolve(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow local references (``#/$defs/Name``); one that cannot be followed becomes the empty schema."""
    for _ in range(8):
        if not isinstance(schema, Mapping):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        node: Any = root
        for part in reference.removeprefix("#").strip("/").split("/"):
            node = node.get(part) if isinstance(node, Mapping) else None
        schema = node
    return {}


def self_contained(schema: Mapping[str, Any]) -> JsonObject:
    """A copy of a schema with what it refers to in its place; a type that holds itself ends as the empty schema."""

    def copied(node: Any, inside: tuple[str, ...], names: bool = False) -> Any:
        if isinstance(node, list | tuple):
            return [copied(item, inside) for item in node]
        if not isinstance(node, Mapping):
            return node
        reference = None if names else node.get("$ref")
        if reference in inside:
            return {}
        whole = node if reference is None else {**resolve(node, schema), **node}
        inside = inside if reference is None else (*inside, reference)
        return {
            key: copied(value, inside, names=not names and key in _NAMED)
            for key, value in whole.items()
            if names or key not in ("$ref", "$defs", "definitions")
        }

    result: JsonObject = copied(schema, ())
    return result


def type_name(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """A short name for what a schema allows, such as ``list[string]`` or ``"a" | "b"``."""
    part = resolve(schema, root)
    if depth > 4:
        return "any"
    if "const" in part:
        return json.dumps(part["const"], ensure_ascii=False)
    if isinstance(part.get("enum"), list):
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in part["enum"])
    options = part.get("anyOf") or part.get("oneOf")
    if isinstance(options, list) and options:
        return " | ".join(dict.fromkeys(type_name(option, root, depth + 1) for option in options))
    kind = part.get("type", "any")
    if isinstance(kind, list):
        return " | ".join(str(item) for item in kind)
    if kind == "array":
        return f"list[{type_name(part.get('items', {}), root, depth + 1)}]"
    if kind == "object" and part.get("properties"):
        fields = (f"{key}: {type_name(value, root, depth + 1)}" for key, value in part["properties"].items())
        return "{" + ", ".join(fields) + "}"
    return str(kind)
