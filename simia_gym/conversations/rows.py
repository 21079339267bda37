"""The rows of a file: JSON Lines, a JSON list, or one JSON object, each with its line; or Parquet, with its number."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from simia_gym.common.files import check_regular, read_text
from simia_gym.common.json_encoding import decode_fast
from simia_gym.conversations.conversation import Unreadable
from simia_gym.conversations.parquet import is_parquet, parquet_rows
from simia_gym.errors import InputError

_SPACE = re.compile(r"\s*")
_BOM = b"\xef\xbb\xbf"
_DECODER = json.JSONDecoder()


def read_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """The rows of a file.

    Yields:
        File and line of each row, and its value, or an `Unreadable` if it is no JSON.

    Raises:
        InputError: The file is missing or cannot be read.
    """
    try:
        check_regular(path)
        if is_parquet(path):
            yield from parquet_rows(path)
            return
        with path.open("rb") as file:
            lines = enumerate(file, start=1)
            first = next(((number, line) for number, line in lines if line.strip(b"\xef\xbb\xbf \t\r\n")), None)
            if first is None:
                return
            opening = first[1].removeprefix(_BOM).strip()
            if opening[:1] != b"[" and not (opening[:1] == b"{" and opening[-1:] != b"}"):
                for number, line in chain([(first[0], first[1].removeprefix(_BOM))], lines):
                    if not line.isspace():
                        where = f"{path}:{number}"
                        yield where, _decoded(line, where)
                return
    except FileNotFoundError as error:
        raise InputError("there is no such file", where=str(path), fix="Check the path.") from error
    except IsADirectoryError as error:
        raise InputError("is a folder, not a file", where=str(path), fix="Name the file.") from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path), fix="Check the path.") from error
    text = read_text(path)
    yield from _listed(path, text) if opening[:1] == b"[" else _whole(path, text)


def _decoded(line: bytes, where: str) -> Any:
    try:
        return decode_fast(line)
    except (ValueError, RecursionError) as error:
        return _unreadable(where, error)


def _unreadable(where: str, error: Exception) -> Unreadable:
    said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    place = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) and error.lineno == 1 else ""
    return Unreadable(where, f"is not valid JSON: {said}{place}")


def _whole(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    """A file that holds one object over several lines, or several of them."""
    yield from _values(path, text, 0, "")


def _listed(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    """A file that holds a list: its items one by one, so that each has its line."""
    yield from _values(path, text, text.index("[") + 1, "]")


def _values(path: Path, text: str, position: int, end: str) -> Iterator[tuple[str, Any]]:
    line, counted = 1, 0
    while True:
        position = _space(text, position)
        if text[position : position + 1] == end:
            return
        line += text.count("\n", counted, position)
        counted = position
        where = f"{path}:{line}"
        try:
            value, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            if isinstance(error, json.JSONDecodeError):
                where = f"{path}:{error.lineno}"
                error = json.JSONDecodeError(error.msg, text[error.pos - error.colno + 1 : error.pos], error.colno - 1)
            yield where, _unreadable(where, error)
            return
        yield where, value
        position = _space(text, position)
        if end and text[position : position + 1] == ",":
            position += 1
        elif end and text[position : position + 1] != end:
            line += text.count("\n", counted, position)
            yield f"{path}:{line}", Unreadable(f"{path}:{line}", "is not valid JSON: the list goes on without a comma")
            return


def _space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match is not None else position
