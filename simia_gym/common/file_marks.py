"""What is made from files that may be edited is made anew when their content has changed, and only then."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K")
V = TypeVar("V")
_LARGE = 16 << 20
"""Bytes from which a file's size and times stand for its content."""
_SETTLED = 2_000_000_000
"""Nanoseconds; a second change within them may leave size and times as they are, for a clock has steps."""
_marks: dict[str, tuple[tuple[int, ...], bytes]] = {}


def file_mark(path: str | Path) -> bytes:
    """A mark of a file that changes with its content; a file is read again only if its size or times have changed.

    Raises:
        OSError: The file cannot be read.
    """
    path, status = str(path), os.stat(path)
    times = (status.st_mtime_ns, status.st_ctime_ns)
    stamp = (*times, status.st_size, status.st_ino)
    known, mark = _marks.get(path, ((), b""))
    if known == stamp:
        return mark
    if status.st_size > _LARGE:
        return repr(stamp).encode()
    mark = hashlib.sha256(Path(path).read_bytes()).digest()
    if time.time_ns() - max(times) > _SETTLED:
        _marks[path] = (stamp, mark)
    return mark


def folder_mark(folder: Path) -> bytes:
    """A mark of all files in a folder, or of one file; without hidden ones, Python's own, and the folder ``runs``."""
    digest = hashlib.sha256()
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")) and name != "runs")
        for name in sorted(files):
            if not name.startswith("."):
                digest.update(f"{place}/{name}\0".encode(errors="surrogateescape") + _mark_or_error(f"{place}/{name}"))
    return digest.digest() if folder.is_dir() else _mark_or_error(str(folder))


def _mark_or_error(path: str) -> bytes:
    try:
        return file_mark(path) if os.path.isfile(path) else b"no file"
    except OSError as error:
        return repr(error).encode()


class Newest(Generic[K, V]):
    """The newest value of each of a number of keys, with the mark of what it was made from.

    An older value is found by its mark as long as something else keeps it alive.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._newest: dict[K, V] = {}
        self._living: WeakValueDictionary[tuple[K, bytes], V] = WeakValueDictionary()

    def living(self, key: K, mark: bytes) -> V | None:
        """The value with this mark, if there is one."""
        return self._living.get((key, mark))

    def get(self, key: K, mark: bytes, make: Callable[[], V]) -> V:
        """The value with this mark, which is the newest from now on; made if there is none."""
        value = self._living.get((key, mark))
        if value is None:
            value = self._living[key, mark] = make()
        self._newest.pop(key, None)
        self._newest[key] = value
        if len(self._newest) > self._most:
            del self._newest[next(iter(self._newest))]
        return value
