"""The blobs of a record: values that are kept once, by their hash, in a file beside it.

These are what an episode was played with (system message, tools, task, initial tables), and every large value of its
events. Where a large value was taken out of an event stands null, and the event's key ``blobs`` maps its JSON Pointer
to its hash, so that the chain of hashes covers it. A blob file has one line for each value, which is only ever
appended; ``grep HASH FILE.blobs`` shows a value, and two files can be concatenated.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, MutableMapping
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from simia_gym.common.files import check_regular
from simia_gym.common.json_encoding import decode, encode, hash_of
from simia_gym.common.locks import take_lock
from simia_gym.common.writing import append
from simia_gym.errors import InputError, PatchError, StorageError
from simia_gym.state.pointer import make_pointer, pointer_parts, resolve
from simia_gym.types import JsonObject

LARGE = 16_384
"""The largest value that stays in its event, in bytes of its JSON."""
BLOBS = "blobs"
"""The key of an event under which the places and hashes of the values stand that were taken out."""

_BEFORE, _BETWEEN, _AFTER = b'{"hash":"', b'","value":', b"}\n"
_START = len(_BEFORE) + 64 + len(_BETWEEN)


def keep(value: Any, blobs: MutableMapping[str, bytes]) -> str:
    """Put a value among the blobs, and return its hash: SHA-256 of its canonical JSON, 64 hex digits."""
    data = encode(value)
    name = hash_of(data)
    blobs[name] = data
    return name


def without_large(event: Mapping[str, Any], blobs: MutableMapping[str, bytes]) -> bytes:
    """Encode an event canonically; values that are larger than `LARGE` and hold no such value go to the blobs."""
    data = encode(event)
    if len(data) <= LARGE:
        return data
    places: dict[str, str] = {}

    def shortened(value: Any, path: tuple[str | int, ...]) -> Any:
        if len(encode(value)) <= LARGE:
            return value
        before = len(places)
        short = value
        if isinstance(value, Mapping):
            short = {key: shortened(item, (*path, key)) for key, item in value.items()}
        elif isinstance(value, list | tuple):
            short = [shortened(item, (*path, index)) for index, item in enumerate(value)]
        if len(places) > before:
            return short
        places[make_pointer(*path)] = keep(value, blobs)
        return None

    short = {name: shortened(value, (name,)) for name, value in event.items()}
    return encode({**short, BLOBS: places}) if places else data


def with_large(event: JsonObject, blobs: Mapping[str, bytes], where: str) -> JsonObject:
    """The decoded event with its large values, which `without_large` has taken out; it is changed in place.

    Args:
        event: The event.
        blobs: Where the values are.
        where: File and line of the event, for errors.

    Raises:
        InputError: A blob is missing or damaged, or the event has no such place.
    """
    places: Any = event.pop(BLOBS, {})
    try:
        for pointer, name in places.items():
            *path, last = pointer_parts(pointer)
            holder = resolve(event, path)
            holder[int(last) if isinstance(holder, list) else last] = decode(blobs[name])
    except (PatchError, LookupError, TypeError, ValueError, AttributeError) as error:
        what = f"{BLOBS!r} is {str(places)[:80]!r}, which does not fit"
        raise InputError(what, where=where, fix="Restore the file.") from error
    return event


def blob_path(record: Path) -> Path:
    """Path of the blob file of a record: ``a.jsonl`` -> ``a.blobs``."""
    return record.with_name(f"{record.name.removesuffix('.jsonl')}.blobs")


class BlobFile(Mapping[str, bytes]):
    """The blobs in a file, by hash; it is opened when the first one is needed.

    A line is read when it is asked for, and must have its hash. A last line without newline, which a killed process
    leaves, counts as missing. Any number of processes may read; the one that holds the record's lock may write.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._end = 0
        self._file: IO[bytes] | None = None

    @cached_property
    def _index(self) -> dict[str, tuple[int, int, int]]:
        """Hash to number of the line, its start in the file and its length."""
        return self._read()

    def _read(self) -> dict[str, tuple[int, int, int]]:
        found: dict[str, tuple[int, int, int]] = {}
        self._end = 0
        check_regular(self.path)
        if self.path.exists():
            with self.path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    if line.endswith(b"\n"):
                        if not (line.startswith(_BEFORE) and line.endswith(_AFTER)):
                            where, fix = f"{self.path}:{number}", "Restore the file."
                            raise InputError("is no line of a blob file", where=where, fix=fix)
                        name = line[len(_BEFORE) : len(_BEFORE) + 64].decode("ascii", "replace")
                        found.setdefault(name, (number, self._end, len(line)))
                        self._end += len(line)
        return found

    def __getitem__(self, name: str) -> bytes:
        """The canonical JSON of a value.

        Raises:
            InputError: The file does not hold it, or holds something else; names file, hash and fix.
        """
        if name not in self._index:
            what = f"blob {name} of this record is missing" if self._index else f"holds blob {name}, and does not exist"
            fix = "Put the blob file that was written with the record there, or play the episode again."
            raise InputError(what, where=str(self.path), fix=fix)
        number, start, length = self._index[name]
        with self.path.open("rb") as file:
            file.seek(start)
            data = file.read(length)[_START : -len(_AFTER)]
        if hash_of(data) != name:
            what = f"blob {name} is damaged: what stands there has the hash {hash_of(data)}"
            fix = "Restore the file, or play the episode again."
            raise InputError(what, where=f"{self.path}:{number}", fix=fix)
        return data

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def add(self, blobs: Mapping[str, bytes]) -> None:
        """Append the values that are not there yet.

        Raises:
            StorageError: The file cannot be written.
            InputError: Another process writes to it, or it is no blob file.
        """
        for name, data in blobs.items():
            if name not in self._index:
                file = self._file or self._opened()
                line = b"".join((_BEFORE, name.encode(), _BETWEEN, data, _AFTER))
                append(file, line)
                self._index[name] = len(self._index) + 1, self._end, len(line)
                self._end += len(line)

    def _opened(self) -> IO[bytes]:
        check_regular(self.path)
        try:
            file = self._file = self.path.open("ab", buffering=0)
        except OSError as error:
            fix = "Make room, or give another --out."
            raise StorageError(f"cannot be opened ({error.strerror})", where=str(self.path), fix=fix) from error
        if not take_lock(file.fileno(), self.path):
            self.close()
            raise InputError("another process writes to it", where=str(self.path), fix="Wait for it.")
        self._index = self._read()  # another process may have written since
        os.truncate(self.path, self._end)  # a torn last line
        return file

    def close(self) -> None:
        """Close the file for writing."""
        if self._file is not None:
            self._file.close()
            self._file = None
