"""Structured replies: extract a JSON value from a model's text and validate it against a JSON Schema."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import orjson

from simia_gym.actions.strict_json import JsonProblem, decode_all, decode_at
from simia_gym.actions.thinking import CLOSE, strip_thinking
from simia_gym.common.json_encoding import encode
from simia_gym.common.schema_errors import json_schema_validator, most_relevant_problem
from simia_gym.errors import Fault
from simia_gym.llm.transport.failures import Failure
from simia_gym.llm.types import ChatRequest, Reply, ReplySchema
from simia_gym.types import JsonObject

_MOST_TRIES = 64
_FENCED = re.compile(r"```(?:[ \t]*[^\W_]+[ \t]*\r?\n)?(.*)```", re.DOTALL)


class Form:
    """A compiled reply schema.

    Attributes:
        reply: The schema.
        format: Encoded ``response_format`` of a request, by mode (``json_schema``, ``json_object``).
    """

    def __init__(self, reply: ReplySchema) -> None:
        self.reply = reply
        self._validator = json_schema_validator(reply.schema)
        strict = fits_strict(reply.schema)
        inner = {"name": reply.name, "schema": reply.schema, "strict": strict}
        self.format = {
            "json_schema": orjson.Fragment(encode({"type": "json_schema", "json_schema": inner})),
            "json_object": orjson.Fragment(b'{"type":"json_object"}'),
        }

    def read(self, text: str) -> Any:
        """Read the value, valid under the schema, from a model's whole text.

        Raises:
            Failure: ``bad_reply``: there is no valid value, or more than one value.
        """
        value = find_json(text)
        if not self._validator.is_valid(value):
            problem = most_relevant_problem(self.reply.schema, value)
            raise Failure("bad_reply", f"the reply breaks its schema: {problem}", again=True)
        return value


@lru_cache(maxsize=256)
def form_of(reply: ReplySchema) -> Form:
    """The compiled form of a schema object, which is compiled once."""
    return Form(reply)


def read_reply(raw: str, request: ChatRequest, **fields: Any) -> Reply:
    """Read a recorded raw reply in the same way as a new one; ``fields`` are further fields of the reply.

    Raises:
        Fault: ``bad_reply``: the text holds no value that is valid under the schema.
    """
    try:
        data = None if request.reply is None else form_of(request.reply).read(raw)
    except Failure as failure:
        raise Fault(failure.kind, failure.message, role=request.role) from None
    return Reply(strip_thinking(raw), raw, data, **fields)


def find_json(text: str) -> Any:
    """Find the one JSON value in a model's text.

    The value may be the whole text, follow the model's thinking, be in a code fence, or be surrounded by prose.
    Thinking tags inside the JSON are ordinary text.

    Raises:
        Failure: ``bad_reply``: there is no JSON value, there are several, or it is not strict JSON.
    """
    problem = "is empty"
    position = tries = 0
    while position >= 0 and tries < _MOST_TRIES:
        tries += 1
        rest = _unfenced(text[position:].strip()) if position else _unfenced(text.strip())
        if rest[:1] in ("{", "["):
            try:
                return decode_all(rest)
            except JsonProblem as error:
                problem = f"is not JSON: {error.message}"
        end = text.find(CLOSE, position)
        position = end + len(CLOSE) if end >= 0 else -1
    said = strip_thinking(text).strip()
    if not said:
        words = "holds nothing but thinking" if text.strip() else "is empty"
        raise Failure("bad_reply", f"the reply {words}", again=True)
    found = [] if said.startswith("[") else _embedded(said)
    if len(found) == 1:
        return found[0]
    if found:
        problem = "holds several JSON objects"
    elif problem == "is empty":
        problem = f"holds no JSON: {said[:60]!r}"
    raise Failure("bad_reply", f"the reply {problem}", again=True)


def fits_strict(schema: Any) -> bool:
    """Whether a schema is in the subset that servers accept as ``strict``: closed objects, all properties required."""
    if isinstance(schema, list):
        return all(fits_strict(item) for item in schema)
    if not isinstance(schema, dict):
        return False
    if "anyOf" in schema:
        return all(fits_strict(item) for item in schema["anyOf"])
    if "$ref" in schema or "enum" in schema or "const" in schema:
        return True
    kinds = schema.get("type")
    if kinds is None or any(key in schema for key in ("oneOf", "allOf", "not", "if", "patternProperties")):
        return False
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "object" in kinds:
        inner: JsonObject = schema.get("properties", {})
        closed = schema.get("additionalProperties") is False and set(schema.get("required", ())) == set(inner)
        if not closed or not all(fits_strict(item) for item in inner.values()):
            return False
    return not ("array" in kinds and not fits_strict(schema.get("items")))


def _unfenced(text: str) -> str:
    """The content of the code fence if the whole text is one; otherwise the text."""
    found = _FENCED.fullmatch(text)
    return text if found is None else found.group(1).strip()


def _embedded(text: str) -> list[Any]:
    """The outermost JSON objects in a text with prose, at most two.

    A malformed object ends the search without a result, so that a fragment of it is never taken for the reply.
    """
    found: list[Any] = []
    position, tries = text.find("{"), 0
    while position >= 0 and len(found) < 2 and tries < _MOST_TRIES:
        tries += 1
        try:
            value, end = decode_at(text, position)
        except JsonProblem:
            if text[position + 1 :].lstrip()[:1] == '"':
                return []
            end = position + 1
        else:
            found.append(value)
        position = text.find("{", end)
    return found
