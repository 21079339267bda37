"""A strict JSON decoder that can start inside a text and reports the position of a mistake.

Unlike the standard library, it refuses NaN, infinities and overflowing numbers (``1e999``), duplicate keys, and nesting
deeper than `MAX_DEPTH`, and escapes of lone surrogates, which are halves of characters.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

MAX_DEPTH = 64
_SURROGATE = re.compile(r"\\u[dD]")
_SPACE = re.compile(r"[ \t\n\r]*")


class JsonProblem(Exception):
    """The text is not valid JSON.

    Args:
        message: What is wrong.
        position: Index in the text, or ``None`` if unknown.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        self.message, self.position = message, position
        super().__init__(message, position)


def skip_space(text: str, position: int) -> int:
    """The index of the next character that is not JSON white space."""
    match = _SPACE.match(text, position)
    assert match is not None  # no space is a match, too
    return match.end()


def decode_at(text: str, position: int) -> tuple[Any, int]:
    """Decode the JSON value whose first character is at ``position``; return it and the index after it.

    Raises:
        JsonProblem: There is no valid value.
    """
    try:
        value, end = _SCAN(text, position)
    except StopIteration as error:
        raise JsonProblem("Expecting value", error.value) from None
    except json.JSONDecodeError as error:
        raise _problem_of(error) from None
    except ValueError as error:
        # Python refuses integers of thousands of digits; its message is about the interpreter's settings.
        words = str(error)
        raise JsonProblem("A number has too many digits" if words.startswith("Exceeds") else words) from None
    except RecursionError:
        raise JsonProblem(f"nested deeper than {MAX_DEPTH} levels") from None
    brackets = text.count("{", position, end) + text.count("[", position, end)
    if brackets > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise JsonProblem(f"nested deeper than {MAX_DEPTH} levels")
    if _SURROGATE.search(text, position, end):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(error.object[error.start]):04x}"
            raise JsonProblem(f"A text has {half}, which is half of a surrogate pair and no character") from None
    return value, end


def _problem_of(error: json.JSONDecodeError) -> JsonProblem:
    """The mistake in the same words on every Python version, because agents are shown them and records keep them."""
    if not error.msg.startswith("Illegal trailing comma"):  # from Python 3.13 on, at the comma
        return JsonProblem(error.msg.removesuffix(" at"), error.pos)
    what = "Expecting value" if error.msg.endswith("array") else "Expecting property name enclosed in double quotes"
    return JsonProblem(what, skip_space(error.doc, error.pos + 1))


def decode_all(text: str) -> Any:
    """Decode a text that is one JSON value, which may have white space around it.

    Raises:
        JsonProblem: The text is not valid JSON.
    """
    value, end = decode_at(text, skip_space(text, 0))
    if end < len(text) and (rest := skip_space(text, end)) < len(text):
        raise JsonProblem("Extra data", rest)
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"Key {twice!r} occurs twice in one object")
    return result


def _finite(literal: str) -> float:
    number = float(literal)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"Number {literal[:20]} is too large")
    return number


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER: Any = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse, object_pairs_hook=_pairs)
_SCAN = _DECODER.scan_once  # what raw_decode() calls


def _depth(value: Any) -> int:
    """Nesting of a value, without recursion and no further than needed."""
    depth, level = 0, [value]
    while level and depth <= MAX_DEPTH:
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                deeper.extend(item.values())
            elif isinstance(item, list):
                deeper.extend(item)
        if any(isinstance(item, dict | list) for item in level):
            depth += 1
        level = deeper
    return depth
