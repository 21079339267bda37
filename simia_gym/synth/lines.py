"""Files of the synthesis: one JSON object a line, appended as soon as it is there, and read again on the next run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

import orjson

from simia_gym.common.json_encoding import encode
from simia_gym.common.writing import append, check_room, write_whole
from simia_gym.errors import InputError
from simia_gym.types import JsonObject

_FIX = "Make room; the same command goes on."


class Lines:
    """An append-only file of objects by id; the last one of an id counts, and an incomplete last line is cut off.

    Args:
        path: The file; it need not exist.

    Raises:
        InputError: A line is no object with an id.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.items: dict[str, JsonObject] = {}
        self._file: IO[bytes] | None = None
        if path.is_file():
            self._read()

    def _read(self) -> None:
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                item = orjson.loads(line)
            except orjson.JSONDecodeError:
                item = None
            if not isinstance(item, dict) or not isinstance(item.get("id"), str):
                fix = "Remove the line; what it held is made again."
                raise InputError("it is no object with an id", where=f"{self.path}:{number}", fix=fix)
            self.items[item["id"]] = item

    def check_room(self) -> None:
        """Check before something is paid for that it can be written.

        Raises:
            StorageError: The disk is almost full.
        """
        check_room(self.path, fix=_FIX)

    def add(self, item: Mapping[str, object]) -> None:
        """Append an object.

        Raises:
            StorageError: The file cannot be written.
        """
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab", buffering=0)
        append(self._file, encode(item) + b"\n", _FIX)
        self.items[str(item["id"])] = dict(item)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def write_lines(path: Path, items: Iterable[Mapping[str, object]]) -> None:
    """Write a file of objects as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, b"".join(encode(item) + b"\n" for item in items))
