"""Gemma's calls, ``call:name{key:value}``, in which marks stand around texts; those of FunctionGemma and Gemma 4."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from simia_gym.actions.dialects.values import Tools, expect, made, next_item
from simia_gym.actions.strict_json import MAX_DEPTH, JsonProblem, decode_at, skip_space
from simia_gym.types import JsonObject, ToolCall


class _Form(NamedTuple):
    opening: str
    closing: str
    quote: str


_FORMS = (
    _Form("<|tool_call>", "<tool_call|>", '<|"|>'),
    _Form("<start_function_call>", "<end_function_call>", "<escape>"),
)
_NAME = re.compile(r"call:([\w.-]+)\{")
_KEY = re.compile(r"""[^\s:,{}\[\]<>"']+""")
_WORD = re.compile(r"(?:true|false|null|None)(?![\w.])")
_WORDS = {"true": True, "false": False, "null": None, "None": None}
_NUMBER = re.compile(r"-?\d")


def read_gemma(text: str, position: int, tools: Tools) -> tuple[list[ToolCall], int]:
    """Calls one after the other, without anything between them but white space."""
    form = next(form for form in _FORMS if text.startswith(form.opening, position))
    calls: list[ToolCall] = []
    while text.startswith(form.opening, start := skip_space(text, position)):
        name = _NAME.match(text, start + len(form.opening))
        if name is None:
            raise JsonProblem("Expecting call:NAME{", start + len(form.opening))
        arguments, position = _object(text, name.end(), form.quote, 1)
        position = expect(text, position, form.closing, form.closing)
        calls.append(made(name[1], arguments))
    return calls, position


def _object(text: str, position: int, quote: str, depth: int) -> tuple[JsonObject, int]:
    found: JsonObject = {}
    position = skip_space(text, position)
    while not text.startswith("}", position):
        if text.startswith(quote, position):
            key, position = _text(text, position, quote)
        else:
            bare = _KEY.match(text, position)
            if bare is None:
                raise JsonProblem("Expecting a key", position)
            key, position = bare.group(), bare.end()
        if key in found:
            raise JsonProblem(f"Key {key!r} occurs twice in one object")
        position = expect(text, position, ":", "':'")
        found[key], position = _value(text, skip_space(text, position), quote, depth)
        position = next_item(text, position, "}")
    return found, position + 1


def _value(text: str, position: int, quote: str, depth: int) -> tuple[Any, int]:
    if depth > MAX_DEPTH:
        raise JsonProblem(f"nested deeper than {MAX_DEPTH} levels")
    if text.startswith(quote, position):
        return _text(text, position, quote)
    if text.startswith("{", position):
        return _object(text, position + 1, quote, depth + 1)
    if text.startswith("[", position):
        items: list[Any] = []
        position = skip_space(text, position + 1)
        while not text.startswith("]", position):
            item, position = _value(text, position, quote, depth + 1)
            items.append(item)
            position = next_item(text, position, "]")
        return items, position + 1
    if word := _WORD.match(text, position):
        return _WORDS[word.group()], word.end()
    if _NUMBER.match(text, position):
        return decode_at(text, position)
    raise JsonProblem(f"Expecting {quote} or another value", position)


def _text(text: str, position: int, quote: str) -> tuple[str, int]:
    start = position + len(quote)
    end = text.find(quote, start)
    if end < 0:
        raise JsonProblem("Unterminated string", len(text))
    return text[start:end], end + len(quote)
