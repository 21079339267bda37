"""Dialects whose calls are calls of Python functions: Llama 4's list, ``tool_code`` and bare calls.

The arguments are literals that are named; ``true``, ``false`` and ``null`` of JSON are literals, too.
"""

from __future__ import annotations

import re
from typing import Any

from simia_gym.actions.calls import broken
from simia_gym.actions.dialects.values import Tools, expect, made, next_item
from simia_gym.actions.strict_json import MAX_DEPTH, JsonProblem, skip_space
from simia_gym.types import JsonObject, ToolCall

_NAME = re.compile(r"[A-Za-z_][\w.]*")
_KEY = re.compile(r"([A-Za-z_]\w*)[ \t\n\r]*=(?!=)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_WORDS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_NUMBER = re.compile(r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPES = {**dict(zip("ntrbfva", "\n\t\r\b\f\v\a", strict=True)), **dict(zip("\\'\"", "\\'\"", strict=True)), "\n": ""}
_PIECE = {quote: re.compile(rf"(?:[^\\{quote}\n]|\\.)*", re.DOTALL) for quote in "'\""}
_PRINT = re.compile(r"print\(\s*+(?=[A-Za-z_][\w.]*+\()")
_LINE_END = re.compile(r"[ \t;]*+(?:\r?\n\s*+|(?=```))")
_FENCE = "```tool_code"
_PREFIX = "default_api."


def read_pythonic(text: str, position: int, tools: Tools) -> tuple[list[ToolCall], int]:
    """Llama 4: a list of calls, which may stand between marks."""
    marked = next((mark for mark in ("<|python_start|>", "<|python_tag|>") if text.startswith(mark, position)), "")
    position = skip_space(text, position + len(marked))
    listed = text.startswith("[", position)
    call, position = _call(text, skip_space(text, position + listed))
    calls = [call]
    while listed:
        position = skip_space(text, position)
        if text.startswith("]", position):
            position += 1
            break
        position = expect(text, position, ",", "',' or ']'")
        call, position = _call(text, skip_space(text, position))
        calls.append(call)
    end = skip_space(text, position)
    return calls, end + len("<|python_end|>") if marked and text.startswith("<|python_end|>", end) else position


def read_bare(text: str, position: int, tools: Tools) -> tuple[list[ToolCall], int]:
    """Calls alone, one below the other."""
    call, position = _call(text, position)
    calls = [call]
    while (start := skip_space(text, position)) > position and "\n" in text[position:start]:
        name = _NAME.match(text, start)
        if name is None or not text.startswith("(", name.end()):
            break
        call, position = _call(text, start)
        calls.append(call)
    return calls, position


def read_tool_code(text: str, position: int, tools: Tools) -> tuple[list[ToolCall], int]:
    """A fence of lines that call a function, or print what it returns."""
    position = skip_space(text, position + len(_FENCE))
    calls: list[ToolCall] = []
    while not text.startswith("```", position):
        printed = _PRINT.match(text, position)
        call, position = _call(text, printed.end() if printed else position)
        calls.append(call)
        if printed:
            position = expect(text, position, ")", "')'")
        line = _LINE_END.match(text, position)
        if line is None:
            raise JsonProblem("Expecting a line end or ```", position)
        position = line.end()
    if not calls:
        raise JsonProblem("Expecting a call", position)
    return calls, position + 3


def _call(text: str, position: int) -> tuple[ToolCall, int]:
    name = _NAME.match(text, position)
    if name is None or not text.startswith("(", name.end()):
        raise JsonProblem("Expecting a call", name.end() if name else position)
    tool = name.group().removeprefix(_PREFIX)
    position = skip_space(text, name.end() + 1)
    arguments: JsonObject = {}
    while not text.startswith(")", position):
        key = _KEY.match(text, position)
        if key is None:
            if position >= len(text) or _WORD.fullmatch(text, position):
                raise JsonProblem("Expecting ')'", len(text))
            raise broken("bad_arguments", f"The call of {tool!r} has an argument that is not written name=value.")
        if key[1] in arguments:
            raise broken("bad_arguments", f"The call of {tool!r} has the argument {key[1]!r} twice.")
        arguments[key[1]], position = _literal(text, skip_space(text, key.end()), 1)
        position = next_item(text, position, ")")
    return made(tool, arguments), position + 1


def _literal(text: str, position: int, depth: int) -> tuple[Any, int]:
    if depth > MAX_DEPTH:
        raise JsonProblem(f"nested deeper than {MAX_DEPTH} levels")
    first = text[position : position + 1]
    if first in ("'", '"'):
        return _string(text, position)
    if first in ("[", "("):
        return _list(text, position, "]" if first == "[" else ")", depth)
    if first == "{":
        return _dictionary(text, position, depth)
    if word := _WORD.match(text, position):
        if word.group() not in _WORDS:
            where = position if word.end() < len(text) else len(text)
            raise JsonProblem("Expecting a literal", where)
        return _WORDS[word.group()], word.end()
    number = _NUMBER.match(text, position)
    if number is None:
        raise JsonProblem("Expecting a literal", position)
    return _number(number.group()), number.end()


def _number(written: str) -> int | float:
    if written.lstrip("+-").isdigit():
        try:
            return int(written)
        except ValueError:
            raise JsonProblem("A number has too many digits") from None
    value = float(written)
    if value in (float("inf"), float("-inf")):
        raise JsonProblem(f"Number {written[:20]} is too large")
    return value


def _list(text: str, position: int, closing: str, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    position = skip_space(text, position + 1)
    while not text.startswith(closing, position):
        item, position = _literal(text, position, depth + 1)
        items.append(item)
        position = skip_space(text, position)
        if closing == ")" and len(items) == 1 and not text.startswith(",", position):
            raise JsonProblem("Expecting ','", position)  # brackets around one value, and no list
        position = next_item(text, position, closing)
    return items, position + 1


def _dictionary(text: str, position: int, depth: int) -> tuple[JsonObject, int]:
    found: JsonObject = {}
    position = skip_space(text, position + 1)
    while not text.startswith("}", position):
        if text[position : position + 1] not in ("'", '"'):
            raise JsonProblem("Expecting a text as key", position)
        key, position = _string(text, position)
        if key in found:
            raise JsonProblem(f"Key {key!r} occurs twice in one object")
        position = expect(text, position, ":", "':'")
        found[key], position = _literal(text, skip_space(text, position), depth + 1)
        position = next_item(text, position, "}")
    return found, position + 1


def _string(text: str, position: int) -> tuple[str, int]:
    quote = text[position]
    triple = quote * 3
    if text.startswith(triple, position):
        start, end = position + 3, position + 3
        while (end := text.find(quote, end)) >= 0 and not (text.startswith(triple, end) and _even(text, start, end)):
            end += 1
        after = end + 3
    else:
        start = position + 1
        piece = _PIECE[quote].match(text, start)
        end = piece.end() if piece else start
        if end < len(text) and text[end] == "\n":
            raise JsonProblem("Expecting the end of the text before the line's end", end)
        end = end if end < len(text) and text[end] == quote else -1
        after = end + 1
    if end < 0:
        raise JsonProblem("Unterminated string", len(text))
    value = _ESCAPE.sub(_unescaped, text[start:end]) if "\\" in text[start:end] else text[start:end]
    try:
        value.encode()
    except UnicodeEncodeError:
        raise JsonProblem("A text has half of a surrogate pair, which is no character", position) from None
    return value, after


def _even(text: str, start: int, end: int) -> bool:
    """Whether the quote at the end is not escaped."""
    slashes = len(text[start:end]) - len(text[start:end].rstrip("\\"))
    return slashes % 2 == 0


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code:
        if int(code, 16) > 0x10FFFF:
            raise JsonProblem("An escape is no character")
        return chr(int(code, 16))
    if escape[4] not in _ESCAPES:
        raise JsonProblem(f"A text has the escape {escape.group()!r}, which means nothing")
    return _ESCAPES[escape[4]]
