"""Finds the one reply in a model's text that is more than strict JSON in a fence or in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from simia_gym.actions.strict_json import JsonProblem, decode_all, decode_at
from simia_gym.actions.thinking import OPENING_PATTERN, THINKING, may_think, strip_thinking
from simia_gym.common.json_encoding import encode
from simia_gym.llm.tolerant.repair import MOST, LeftOpen, repaired
from simia_gym.llm.tolerant.shape import NoReading, Shape

_MOST_OBJECTS = 16
_MOST_ENDS = 4
_UNSEEN = "\ufeff\u200b\u2060"
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_OPENING = re.compile(OPENING_PATTERN)
_BEGINS = re.compile(r"""\{\s*(?:["'“]|[A-Za-z_]\w*\s*:|//|/\*|\#)|\[\s*[{\[]""")
_FINAL = re.compile(r"\b(?:final|corrected|correction|revised|fixed|instead|rather)\b", re.IGNORECASE)
_BEHIND = re.compile(r"(?:```|~~~|</?[\w|]+>|[\s;,.*`])*")


class _Item(NamedTuple):
    """A JSON value in a text: where it stands, and what it is as a reply, or why it is none."""

    value: Any
    start: int
    end: int
    reply: Any
    problem: str
    kinds: frozenset[str]


def find_reply(text: str, shape: Shape, *, thinks: bool = False) -> tuple[Any, frozenset[str]]:
    """The one reply that a text holds, and the kinds of what was put right.

    Args:
        text: What the model wrote.
        shape: The form of the reply.
        thinks: Whether the text is the model's thinking.

    Raises:
        NoReading: There is none, or more than one.
    """
    said = text.strip().strip(_UNSEEN)
    if not thinks and may_think(said):
        outside, opened = strip_thinking(said).strip(), _left_open(said)
        said, thinks = (opened, True) if opened is not None and not outside else (outside, False)
    quoted = _quoted(said)
    if quoted is not None:
        reply, kinds = find_reply(quoted, shape)
        return reply, kinds | {"json_text"}
    items = list(_items(said, shape))
    if not items:
        raise NoReading(f"the reply holds no JSON object: {said[:60]!r}" if said else "the reply is empty")
    return _in_thinking(said, items) if thinks else _chosen(said, items, shape)


def _left_open(text: str) -> str | None:
    """The thinking that no mark closes, if the text ends with one."""
    marks = list(_OPENING.finditer(text))
    return text[marks[-1].end() :] if marks and THINKING[marks[-1].group()] not in text[marks[-1].end() :] else None


def _quoted(text: str) -> str | None:
    """The content of a text that is one JSON text, or an object whose quotation marks are all escaped."""
    if text.startswith('{\\"'):
        text = f'"{text}"'
    if not text.startswith('"'):
        return None
    try:
        found = decode_all(text)
    except JsonProblem:
        return None
    return found if isinstance(found, str) else None


def _items(text: str, shape: Shape) -> Iterator[_Item]:
    """The outermost objects and lists of objects. One that is malformed ends the search; its problem is that of all.

    Raises:
        NoReading: A malformed object, or too many of them.
    """
    position = count = 0
    while match := _BEGINS.search(text, position):
        start, kinds = match.start(), frozenset[str]()
        count += 1
        if count > _MOST_OBJECTS:
            raise NoReading(f"the reply holds more than {_MOST_OBJECTS} JSON objects")
        try:
            value, end = decode_at(text, start)
        except JsonProblem:
            value, end = _malformed(text, start)
            kinds = frozenset({"syntax"})
        reply, problem = None, ""
        try:
            reply, more = shape.read(value)
            kinds |= more
        except NoReading as error:
            problem = str(error)
        yield _Item(value, start, end, reply, problem, kinds)
        position = end


def _malformed(text: str, start: int) -> tuple[Any, int]:
    """Repair the object or list that begins at an index: up to a bracket that closes it, and never beyond."""
    fence = _FENCE.search(text, start)
    problem = JsonProblem("it has no end")
    for limit in (fence.start(), len(text)) if fence else (len(text),):
        for end in _ends(text, start, limit):
            try:
                return repaired(text[start:end]), end
            except JsonProblem as error:
                problem = error
    opened = sum(text.count(mark, start) for mark in "{[")
    closed = sum(text.count(mark, start) for mark in "}]")
    if opened > closed or isinstance(problem, LeftOpen):
        raise NoReading("the reply was cut off: its JSON object does not end", cut=True)
    raise NoReading(f"the JSON of the reply is malformed: {problem.message}")


def _ends(text: str, start: int, limit: int) -> Iterator[int]:
    """The indices behind the brackets that may be the last: those where as many were closed as opened, and the last."""
    depth = found = 0
    last = -1
    for match in re.finditer(r"[{}\[\]]", text[start : min(limit, start + MOST)]):
        depth += 1 if match.group() in "{[" else -1
        if match.group() in "}]":
            last = start + match.end()
            if depth == 0 and found < _MOST_ENDS:
                found += 1
                yield last
    if last >= 0 and depth != 0:
        yield last


def _in_thinking(text: str, items: list[_Item]) -> tuple[Any, frozenset[str]]:
    """The reply at the end of thinking; what stands before it is a draft."""
    last = items[-1]
    if last.problem or _BEHIND.fullmatch(text, last.end) is None:
        raise NoReading("the reply holds nothing but thinking: it does not end with the JSON object")
    return last.reply, last.kinds | {"thinking"}


def _chosen(text: str, items: list[_Item], shape: Shape) -> tuple[Any, frozenset[str]]:
    """The reply among the objects of a text; a draft counts for nothing if the text says that the last one is final."""
    good = [item for item in items if not item.problem]
    if not good:
        raise NoReading(f"the reply breaks its schema: {items[-1].problem}")
    last = good[-1]
    if last is not items[-1]:
        raise NoReading("the reply holds several JSON objects")
    others = [item for item in items if item is not last and (shape.shares_names(item.value) if item.problem else True)]
    kinds = last.kinds | ({"several"} if len(items) > 1 else frozenset())
    if all(not item.problem and encode(item.reply) == encode(last.reply) for item in others):
        return last.reply, kinds
    between = text[items[-2].end : last.start]
    if _FINAL.search(between) is None:
        raise NoReading("the reply holds several JSON objects that differ")
    return last.reply, kinds | {"draft"}
