"""Repairs the syntax of JSON, and proves that the repair added and dropped nothing but punctuation.

A library proposes the value of a malformed text, or Python does if it is a literal. The library guesses, and it closes
what was left open. So a proposal counts only if the whole text can be walked along it: every bracket and quotation mark
that the value needs stands in the text, every text and number stands there to the letter, and nothing else does but
spaces, comments and stray commas.
"""

from __future__ import annotations

import ast
import json
import math
import re
from typing import Any

from simia_gym.actions.strict_json import MAX_DEPTH, JsonProblem

MOST = 20_000
"""Maximum length of a text that is repaired, in characters; a repair can take quadratic time."""

_SPACE = re.compile(r"(?:[\s\ufeff\u200b]|//[^\n]*|\#[^\n]*|/\*.*?\*/)*", re.DOTALL)
_BRACKET = re.compile(r"[{}\[\]]")
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_KEY = re.compile(r"""["'“”]?[\w .$#/-]{1,60}["'“”]?\s*:""")
_PYTHON_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|N\{|[0-7])")
_NO_PYTHON = re.compile(r"\\(?![\\'\"abfnrtvu])")
_JSON_NAMES = {"true": True, "false": False, "null": None}
_STRAIGHT = str.maketrans("“”", '""')
_CLOSINGS = {'"': '"', "'": "'", "“": "”“"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_NO_TEXTS = frozenset({"nan", "infinity", "inf", "undefined", "null", "none", "true", "false"})


class Unproven(JsonProblem):
    """The text does not hold a proposed value, or holds it in a way that allows another reading."""


class LeftOpen(Unproven):
    """Something that the text opened has no end in it."""


def repaired(text: str) -> Any:
    """The value of a malformed JSON text that begins and ends with its brackets.

    Raises:
        JsonProblem: It has no value, more than one, or something in it is left open.
    """
    if len(text) > MOST:
        raise JsonProblem(f"it has {len(text)} characters and is not strict JSON")
    if _deepest(text) > 2 * MAX_DEPTH:  # the library would take minutes
        raise JsonProblem(f"it is nested deeper than {MAX_DEPTH} levels")
    problem = JsonProblem("it cannot be repaired")
    for propose in (_literal, _library, _straightened) if "“" in text else (_literal, _library):
        try:
            value = propose(text)
            end = _Walk(text).value(value, _spaces(text, 0), 0)
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        except JsonProblem as error:
            problem = error
        except Exception as error:  # what a library fails on is a mistake of the text
            problem = JsonProblem(f"it cannot be repaired ({type(error).__name__})")
        else:
            if _spaces(text, end) == len(text):
                return value
            problem = Unproven("something stands behind its end", end)
    raise problem


def _literal(text: str) -> Any:
    """The text as a literal of Python, also with JSON's names of truths."""
    if _NO_PYTHON.search(text):
        raise JsonProblem("it is no literal")
    return ast.literal_eval(_Names().visit(ast.parse(text.strip(), mode="eval")))


class _Names(ast.NodeTransformer):
    """Replaces JSON's names of truths by Python's."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(_JSON_NAMES[node.id]) if node.id in _JSON_NAMES else node


def _library(text: str) -> Any:
    from json_repair import repair_json

    return repair_json(text, return_objects=True, skip_json_loads=True)


def _straightened(text: str) -> Any:
    """The library cuts a text in curved quotation marks at its first comma."""
    return _library(text.translate(_STRAIGHT))


def _deepest(text: str) -> int:
    """The most brackets that are open at once, those in texts included."""
    deepest = depth = 0
    for bracket in _BRACKET.findall(text):
        depth += 1 if bracket in "{[" else -1
        deepest = max(deepest, depth)
    return deepest


def _spaces(text: str, position: int) -> int:
    """The index behind spaces and comments."""
    match = _SPACE.match(text, position)
    assert match is not None  # no space is a match, too
    return match.end()


class _Walk:
    """Walks a text along a proposed value; each method returns the index behind the part."""

    def __init__(self, text: str) -> None:
        self.text = text

    def value(self, value: Any, at: int, depth: int) -> int:
        if depth > MAX_DEPTH:
            raise Unproven(f"it is nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, dict):
            return self._items(value.items(), "{}", at, depth + 1)
        if isinstance(value, list):
            return self._items([(None, item) for item in value], "[]", at, depth + 1)
        if isinstance(value, str):
            return self._string(value, at, key=False)
        return self._literal(value, at)

    def _items(self, items: Any, brackets: str, at: int, depth: int) -> int:
        """The members of an object, or the items of a list, which have no keys."""
        text = self.text
        at = _spaces(text, self._expect(brackets[0], at))
        last = len(items) - 1
        for number, (key, item) in enumerate(items):
            if key is not None:
                at = _spaces(text, self._string(key, at, key=True))
                at = _spaces(text, self._expect(":", at))
            end = self.value(item, at, depth)
            at = _spaces(text, end)
            if text.startswith(",", at):
                at = _spaces(text, at + 1)
            elif number < last and not (at > end and (text[end - 1] in "\"'”}]" or text[at : at + 1] in "\"'“")):
                raise Unproven("a comma is missing", at)
        return self._expect(brackets[1], at)

    def _expect(self, mark: str, at: int) -> int:
        if not self.text.startswith(mark, at):
            kind = LeftOpen if mark in "}]" else Unproven
            raise kind(f"{mark!r} is missing", at)
        return at + 1

    def _literal(self, value: Any, at: int) -> int:
        if isinstance(value, bool) or value is None:
            word = _NAME.match(self.text, at)
            known = {True: ("true",), False: ("false",), None: ("null", "none")}[value]
            if word is None or word.group().lower() not in known:
                raise Unproven("it is no literal", at)
            return word.end()
        number = _NUMBER.match(self.text, at)
        if not isinstance(value, int | float) or number is None or not math.isfinite(value):
            raise Unproven("it is no number", at)
        written = number.group()
        if (int(written) if written.lstrip("+-").isdecimal() else float(written)) != value:
            raise Unproven("it is another number", at)
        return number.end()

    def _string(self, value: str, at: int, *, key: bool) -> int:
        closings = _CLOSINGS.get(self.text[at : at + 1])
        if closings is None:
            return self._name(value, at)
        at += 1
        place = 0
        while place < len(value):
            said, end = self._char(at)
            if not value.startswith(said, place) or (end - at > 1 and not said):
                raise Unproven("a text is another one", at)
            if end - at == 1 and said in closings and self._may_close(at, key):
                raise Unproven("a quotation mark within a text may be its end", at)
            place += len(said)
            at = end
        if self.text[at : at + 1] not in closings or at >= len(self.text):
            raise LeftOpen("a text is not closed", at)
        return at + 1

    def _name(self, value: str, at: int) -> int:
        """A text without quotation marks; only a plain word is one."""
        word = _NAME.match(self.text, at)
        if word is None or word.group() != value or value.lower() in _NO_TEXTS:
            raise Unproven("a text has no quotation marks", at)
        if self.text[_spaces(self.text, word.end()) :][:1] not in (",", ":", "}", "]"):
            raise Unproven("a text has no quotation marks", at)
        return word.end()

    def _char(self, at: int) -> tuple[str, int]:
        """The character that is written at an index, and the index behind it."""
        char = self.text[at : at + 1]
        if not char:
            raise LeftOpen("a text is not closed", at)
        if char != "\\":
            return char, at + 1
        after = self.text[at + 1 : at + 2]
        if after == "u":
            found = json.JSONDecoder().raw_decode(f'"{self.text[at : at + 6]}"')[0]
            if "\ud800" <= found <= "\udbff":
                return json.loads(f'"{self.text[at : at + 12]}"'), at + 12
            return str(found), at + 6
        if after in _ESCAPES:
            return _ESCAPES[after], at + 2
        if _PYTHON_ESCAPE.match(self.text, at):
            raise Unproven("an escape is none of JSON", at)
        return char, at + 1  # a backslash that escapes nothing stands for itself

    def _may_close(self, at: int, key: bool) -> bool:
        """Whether a quotation mark inside a text could be its end, by what follows."""
        text = self.text
        after = _spaces(text, at + 1)
        mark = text[after : after + 1]
        if key:
            return mark in (":", "")
        behind = _spaces(text, after + 1)
        follows = text[behind : behind + 1]
        if mark == ",":
            return follows in ("}", "]", "") or _KEY.match(text, behind) is not None
        return mark in ("", "+") or (mark in "}]" and follows in (",", "}", "]", ""))
