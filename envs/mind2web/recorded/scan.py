"""Finds where the parts of a large JSON text stand, without decoding them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecodeError, loads
from mmap import mmap
from typing import Any

Buffer = bytes | mmap

_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}\[{\":]++")
_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+([\[\]{}])', re.DOTALL)


class NotJson(ValueError):
    """The text is no JSON at a place."""


def start_of(buffer: Buffer, place: int) -> int:
    """The first place at or after `place` that is no white space."""
    match = _SPACE.match(buffer, place)
    return match.end() if match else place


def end_of(buffer: Buffer, place: int) -> int:
    """Where the value that begins at `place` ends."""
    first = buffer[place : place + 1]
    if first not in (b"[", b"{"):
        match = (_STRING if first == b'"' else _SCALAR).match(buffer, place)
        if match is None:
            raise NotJson(f"a value is missing or cut off at byte {place}")
        return match.end()
    depth, here = 0, place
    while match := _BRACKET.match(buffer, here):
        here = match.end()
        depth += 1 if match[1] in b"[{" else -1
        if not depth:
            return here
    raise NotJson(f"the value that begins at byte {place} is cut off")


def items(buffer: Buffer, place: int, ends: dict[int, int]) -> Iterator[int]:
    """The start of each item of the list at `place`.

    `ends` takes where values end; an item that was walked through before the next one is asked for is not read again.
    """
    here: int | None = _inside(buffer, place, b"[", b"]", ends)
    while here is not None:
        yield here
        here = _following(buffer, place, here, b"]", ends)


def members(buffer: Buffer, place: int, ends: dict[int, int]) -> Iterator[tuple[str, int]]:
    """The name and start of each member of the object at `place`; `ends` as in `items`."""
    here = _inside(buffer, place, b"{", b"}", ends)
    while here is not None:
        end = end_of(buffer, here)
        name = decoded(buffer, here, end)
        colon = start_of(buffer, end)
        if not isinstance(name, str) or buffer[colon : colon + 1] != b":":
            raise NotJson(f"a name and a colon are missing at byte {here}")
        begin = start_of(buffer, colon + 1)
        yield name, begin
        here = _following(buffer, place, begin, b"}", ends)


def decoded(buffer: Buffer, start: int, end: int) -> Any:
    """The value that stands there."""
    try:
        return loads(buffer[start:end])
    except (JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotJson(f"the value at byte {start} is no JSON: {error}") from None


def _inside(buffer: Buffer, place: int, opening: bytes, closing: bytes, ends: dict[int, int]) -> int | None:
    """Where the first part of a list or object begins, if it has one."""
    if buffer[place : place + 1] != opening:
        raise NotJson(f"{opening.decode()} is missing at byte {place}")
    here = start_of(buffer, place + 1)
    if buffer[here : here + 1] != closing:
        return here
    ends[place] = here + 1
    return None


def _following(buffer: Buffer, whole: int, part: int, closing: bytes, ends: dict[int, int]) -> int | None:
    """Where the part after the one at `part` begins, if there is one."""
    if part not in ends:
        ends[part] = end_of(buffer, part)
    here = start_of(buffer, ends[part])
    mark = buffer[here : here + 1]
    if mark == closing:
        ends[whole] = here + 1
        return None
    if mark != b",":
        raise NotJson(f"a comma is missing at byte {here}")
    return start_of(buffer, here + 1)
