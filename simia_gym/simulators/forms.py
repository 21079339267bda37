"""The forms that a simulator's model is held to: what code would reject cannot be written where a server keeps to them.

A success and an error are separate branches: an error has no operations, a success of a tool that changes nothing has
none, one of a tool that always changes something has some, one of a tool with a rendering rule has no observation, and
an error has a code that the tool can give. Every text and every list has an end. The branches stand under one key,
because some servers take no choice at the top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import orjson

from simia_gym.common.json_encoding import encode
from simia_gym.domain.limits import TOO_LARGE, Limits
from simia_gym.domain.tools import ToolSpec
from simia_gym.llm.types import ReplySchema, SentForm
from simia_gym.simulators.checking import LEDGER_REPLY, MAX_CODE, MAX_PATH, REFERENCE_REPLY, RULED_REPLY
from simia_gym.simulators.values import value_form
from simia_gym.state.schema import StateSchema
from simia_gym.types import JsonObject
from simia_gym.views.slices import CUT_OFF

KEY = "answer"
"""The key under which a reply stands."""
_MAX_ERROR = 2_000


def ledger_form(spec: ToolSpec, limits: Limits, *, schema: StateSchema | None, cut: bool) -> ReplySchema:
    """The form of an answer to a tool in the ledger strategy.

    Args:
        spec: The tool.
        limits: Its greatest sizes.
        schema: The schema of the state: which rows can be revealed, and what the tool may write.
        cut: Whether a text is cut off in what the model is shown.
    """
    success: JsonObject = {}
    opened = [] if schema is None else sorted(schema.open_tables)
    if opened:
        success["reveals"] = _many(_op(value_form(opened, schema, limits.value), "add"), limits.operations)
    if spec.effect == "write" and spec.writes:
        value = value_form(spec.writes, schema, limits.value)
        items = {"anyOf": [_op(value, "add", "replace"), _op(value, "remove")]}
        success["ops"] = _many(items, limits.operations, least=int(spec.always_changes))
    if spec.render is None:
        success["observation"] = _text(limits.observation)
    codes = [error.code for error in spec.errors if not error.by_code]
    known = [*codes, TOO_LARGE, *([CUT_OFF] if cut else [])] if spec.errors else []
    reply = LEDGER_REPLY if spec.render is None else RULED_REPLY
    return _form(reply, success, known, limits, {"reveals": [], "ops": []})


def reference_form(spec: ToolSpec, limits: Limits) -> ReplySchema:
    """The form of an answer to a tool in the reference strategy."""
    success = {"observation": _text(limits.observation), "done": {"type": "boolean"}}
    known = [*(error.code for error in spec.errors), TOO_LARGE] if spec.errors else []
    return _form(REFERENCE_REPLY, success, known, limits, {"done": False})


def _form(
    reply: ReplySchema, success: JsonObject, codes: Sequence[str], limits: Limits, missing: JsonObject
) -> ReplySchema:
    code = {"type": "string", "enum": list(dict.fromkeys(codes))} if codes else _text(MAX_CODE)
    branches = [
        _object({"outcome": _one("ok"), "error_code": {"type": "null"}, **success}),
        _object(
            {"outcome": _one("error"), "error_code": code, "observation": _text(min(limits.observation, _MAX_ERROR))}
        ),
    ]
    wrapped = encode(_object({KEY: {"anyOf": branches}}))
    return _known(reply, wrapped, encode(missing))


@lru_cache(maxsize=1024)
def _known(reply: ReplySchema, schema: bytes, missing: bytes) -> ReplySchema:
    """One object for each form, because it is compiled once per object."""
    return replace(reply, sent=SentForm(orjson.loads(schema), KEY, orjson.loads(missing)))


def _op(value: JsonObject, *names: str) -> JsonObject:
    parts: JsonObject = {"op": {"type": "string", "enum": list(names)}, "path": _text(MAX_PATH)}
    return _object(parts if "remove" in names else {**parts, "value": value})


def _many(items: JsonObject, most: int, *, least: int = 0) -> JsonObject:
    return {"type": "array", "items": items, **({"minItems": least} if least else {}), "maxItems": most}


def _one(word: str) -> JsonObject:
    return {"type": "string", "enum": [word]}


def _text(most: int) -> JsonObject:
    return {"type": "string", "maxLength": most}


def _object(properties: dict[str, Any]) -> JsonObject:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
