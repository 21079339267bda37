"""Files of the synthesis: one JSON object a line, appended as soon as it is there, and read again on the next run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, NamedTuple

import orjson

from simia_gym.common.json_encoding import encode
from simia_gym.common.writing import append, check_room, write_whole
from simia_gym.errors import InputError
from simia_gym.types import JsonObject

_FIX = "Make room; the same command goes on."


class _Place(NamedTuple):
    """Where the line of an object stands, and the object's place among all."""

    at: int
    length: int
    order: int


class Lines:
    """An append-only file of objects by id; the last one of an id counts, and an incomplete last line is cut off.

    The objects stay in the file; each is read when it is asked for.

    Args:
        path: The file; it need not exist.

    Raises:
        InputError: A line is no object with an id.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, _Place] = {}
        self._file: IO[bytes] | None = None
        self._reader: IO[bytes] | None = None
        if path.is_file():
            self._read()

    def _read(self) -> None:
        at = 0
        with self.path.open("r+b") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    file.truncate(at)
                    break
                try:
                    item = orjson.loads(line)
                except orjson.JSONDecodeError:
                    item = None
                if not isinstance(item, dict) or not isinstance(item.get("id"), str):
                    fix = "Remove the line; what it held is made again."
                    raise InputError("it is no object with an id", where=f"{self.path}:{number}", fix=fix)
                self._places[item["id"]] = _Place(at, len(line), int(item.get("order", 0)))
                at += len(line)

    def __len__(self) -> int:
        """The number of objects."""
        return len(self._places)

    def get(self, id: str) -> JsonObject | None:
        """The object of an id; ``None`` if there is none."""
        place = self._places.get(id)
        if place is None:
            return None
        if self._reader is None:
            self._reader = self.path.open("rb")
        item: JsonObject = orjson.loads(os.pread(self._reader.fileno(), place.length, place.at))
        return item

    def lacks(self, id: str) -> bool:
        """Whether there is no object of an id, or one that says a fault."""
        item = self.get(id)
        return item is None or "fault" in item

    def in_order(self) -> list[str]:
        """All ids, by the ``order`` of their objects."""
        return sorted(self._places, key=lambda id: self._places[id].order)

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
        data = encode(item) + b"\n"
        append(self._file, data, _FIX)
        order = item.get("order", 0)
        assert isinstance(order, int)
        self._places[str(item["id"])] = _Place(self._file.tell() - len(data), len(data), order)

    def close(self) -> None:
        """Close the file."""
        for file in (self._file, self._reader):
            if file is not None:
                file.close()
        self._file = self._reader = None


class NewLines:
    """A file of objects that takes the place of an earlier one at the end of the context, if nothing was raised in it.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._beside = path, path.with_name(f".{path.name}.new")

    def __enter__(self) -> NewLines:
        """Begin."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._beside.open("wb", buffering=0)
        return self

    def add(self, item: Mapping[str, object]) -> None:
        """Append an object.

        Raises:
            StorageError: The file cannot be written.
        """
        append(self._file, encode(item) + b"\n", _FIX)

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        """End."""
        self._file.close()
        if kind is None:
            self._beside.replace(self._path)
        self._beside.unlink(missing_ok=True)


def write_lines(path: Path, items: Iterable[Mapping[str, object]]) -> None:
    """Write a file of objects as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, b"".join(encode(item) + b"\n" for item in items))
