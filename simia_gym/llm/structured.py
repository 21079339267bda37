"""Structured replies: extract a JSON value from a model's text and validate it against a JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from simia_gym.actions.signatures import without_keywords
from simia_gym.actions.strict_json import JsonProblem, decode_all, decode_at
from simia_gym.actions.thinking import CLOSE, strip_thinking
from simia_gym.common.json_encoding import encode
from simia_gym.common.schema_errors import json_schema_validator, most_relevant_problem
from simia_gym.errors import Fault
from simia_gym.llm.tolerant.search import find_reply
from simia_gym.llm.tolerant.shape import NoReading, Shape
from simia_gym.llm.transport.failures import Failure, text_of
from simia_gym.llm.types import ChatRequest, Reply, ReplySchema
from simia_gym.types import JsonObject

TOOL_CALLS, REASONING, DECODED = PLACES = ("tool_calls", "reasoning", "decoded")
"""The places where a reply may stand that is no text of the content; ``decoded``: the content is the object itself."""
THINKING_FIELDS = ("reasoning_content", "reasoning")
CALL_FIELDS = ("tool_calls", "function_call")
_BOUNDS = ("minItems", "maxItems")
_LENGTHS = ("minLength", "maxLength")
"""Checked, but not sent: with a length, xgrammar 0.2.8 (the default of vLLM) lets no text hold a backslash, so that a
model can write neither quotes nor line breaks."""
_MOST_TRIES = 64
_FENCED = re.compile(r"```(?:[ \t]*[^\W_]+[ \t]*\r?\n)?(.*)```", re.DOTALL)


class Form:
    """A compiled reply schema.

    Attributes:
        reply: The schema.
        format: Encoded ``response_format`` of a request, by mode (``json_schema``, ``json_object``).
        unbounded: That of ``json_schema`` for servers that take no bounds of lists.
    """

    def __init__(self, reply: ReplySchema) -> None:
        self.reply = reply
        self._validator = json_schema_validator(reply.schema)
        self._shape: Shape | None = None
        asked = without_keywords(reply.schema if reply.sent is None else reply.sent.schema, _LENGTHS)
        self.unbounded = _schema_format(reply.name, without_keywords(asked, _BOUNDS))
        self.format = {
            "json_schema": _schema_format(reply.name, asked),
            "json_object": orjson.Fragment(b'{"type":"json_object"}'),
        }

    def read(self, text: str) -> Any:
        """Read the value, valid under the schema, from a model's whole text.

        Only strict JSON is read; see `read_tolerantly`.

        Raises:
            Failure: ``bad_reply``: there is no valid value, or more than one value.
        """
        value = self._content(find_json(text))
        if not self._validator.is_valid(value):
            raise self._broken(value)
        return value

    def _broken(self, value: Any) -> Failure:
        problem = most_relevant_problem(self.reply.schema, value)
        return Failure("bad_reply", f"the reply breaks its schema: {problem}", again=True)

    def _content(self, value: Any) -> Any:
        """The content of a reply in the form that was asked for, with what that leaves out; any other as it is."""
        sent = self.reply.sent
        if sent is None or not sent.key or not isinstance(value, dict) or [*value] != [sent.key]:
            return value
        content = value[sent.key]
        return {**sent.missing, **content} if isinstance(content, dict) else content

    def read_tolerantly(self, text: str, place: str = "") -> tuple[Any, tuple[str, ...]]:
        """Read the value from a text that may be written in an unusual way, if it has one sound reading.

        Args:
            text: What the model wrote.
            place: Where it stood if that is not the content, one of `PLACES`.

        Returns:
            The value, and the kinds of what was put right, sorted; none for a text that `read` reads.

        Raises:
            Failure: ``bad_reply``: there is no valid value, or more than one reading.
        """
        thinks, kinds = place == REASONING, (place,) if place else ()
        strict: Any = None
        failure: Failure | None = None
        if not thinks:
            try:
                strict = self._content(find_json(text))
                if self._validator.is_valid(strict):
                    return strict, kinds
            except Failure as error:
                failure = error
        if self._shape is None:
            self._shape = Shape(self.reply.schema, self.reply.habits)
        try:
            value, more = find_reply(text, self._shape, thinks=thinks)
        except NoReading as error:
            if thinks or error.cut:
                raise Failure("bad_reply", str(error), again=True) from None
            # The strict reader says best where the reply departs from what was asked for.
            raise (failure or self._broken(strict)) from None
        return value, tuple(sorted({*kinds, *more}))


def _schema_format(name: str, schema: JsonObject) -> orjson.Fragment:
    inner = {"name": name, "schema": schema, "strict": fits_strict(schema)}
    return orjson.Fragment(encode({"type": "json_schema", "json_schema": inner}))


@lru_cache(maxsize=256)
def form_of(reply: ReplySchema) -> Form:
    """The compiled form of a schema object, which is compiled once."""
    return Form(reply)


def read_reply(raw: str, request: ChatRequest, read: Iterable[str] | None = None, **fields: Any) -> Reply:
    """Read a recorded raw reply as it was read when it came.

    Args:
        raw: The raw reply.
        request: The request.
        read: The kinds of what was put right; ``None`` if it was read strictly.
        **fields: Further fields of the reply.

    Raises:
        Fault: ``bad_reply``: the text holds no value that is valid under the schema.
    """
    data, kinds = None, None
    try:
        if request.reply is not None:
            form = form_of(request.reply)
            if read is None:
                data = form.read(raw)
            else:
                data, kinds = form.read_tolerantly(raw, next((name for name in read if name in PLACES), ""))
    except Failure as failure:
        raise Fault(failure.kind, failure.message, role=request.role) from None
    return Reply(strip_thinking(raw), raw, data, read=kinds, **fields)


def written(message: Mapping[str, Any]) -> tuple[str, str]:
    """The text of a message without a text as content in which its reply may stand, and the name of the place.

    That is the content as an object, the one tool call's arguments, or else the model's thinking; else both are empty.
    """
    if isinstance(message.get("content"), dict):
        return text_of(message["content"]), DECODED
    if called := called_with(message):
        return called, TOOL_CALLS
    for name in THINKING_FIELDS:
        if isinstance(message.get(name), str) and message[name].strip():
            return message[name], REASONING
    return "", ""


def called_with(message: Mapping[str, Any]) -> str:
    """The arguments of the one call in a message, as text; empty if there is none, or several."""
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        function = calls[0].get("function") if len(calls) == 1 and isinstance(calls[0], dict) else None
    else:
        function = message.get("function_call")
    return text_of(function.get("arguments")) if isinstance(function, dict) else ""


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
