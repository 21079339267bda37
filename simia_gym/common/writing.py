"""Write files so that a full disk tears no line and no file; errors name the file and what to do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

from simia_gym.common.files import check_regular
from simia_gym.errors import InputError, StorageError

RESERVE = 16 * 2**20
"""Bytes that must be free on a disk before an episode or a request to a model begins whose result is written there."""
_FIX = "Make room, then give --resume."


def append(file: IO[bytes], data: bytes, fix: str = _FIX) -> None:
    """Append all bytes to an unbuffered file, or none of them; usually with one write.

    Raises:
        StorageError: The file cannot be written; what was written of `data` is removed again.
    """
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except OSError as error:
        if len(rest) < len(data):
            with suppress(OSError):
                os.ftruncate(file.fileno(), os.fstat(file.fileno()).st_size - (len(data) - len(rest)))
        raise StorageError(f"cannot be written ({error.strerror})", where=str(file.name), fix=fix) from error


def check_room(path: Path, least: int = RESERVE, fix: str = _FIX) -> None:
    """Check before something costly begins that its result can be written.

    Raises:
        StorageError: The disk of `path` has less than `least` bytes free.
    """
    try:
        disk = shutil.disk_usage(path.parent)
    except OSError:
        return
    if disk.total and disk.free < least:
        what = f"its disk is almost full: less than {least // 2**20} MiB are free"
        raise StorageError(what, where=str(path), fix=fix)


def write_whole(path: Path, data: bytes | str) -> None:
    """Write a file atomically: if it cannot be written, an earlier version stays.

    Raises:
        StorageError: The file cannot be written.
    """
    write_parts(path, [data.encode() if isinstance(data, str) else data])


def write_parts(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file atomically from parts, which need not be in memory together.

    Raises:
        StorageError: The file cannot be written; an earlier version stays, as it does if `parts` raises.
    """
    path = path.resolve()  # a link stays
    beside = path.with_name(f".{path.name}.new")
    try:
        with beside.open("wb") as file:
            file.writelines(parts)
        beside.replace(path)
    except OSError as error:
        fix = "Make room, or give another file."
        raise StorageError(f"cannot be written ({error.strerror})", where=str(path), fix=fix) from error
    finally:
        with suppress(OSError):
            beside.unlink()


def check_output(path: Path, option: str, beginnings: tuple[bytes, ...], records: Iterable[Path]) -> None:
    """Check before a long run that a file can be written, and that nothing else is lost by it.

    Args:
        path: The file; its folder is made.
        option: The option that names the file, for errors.
        beginnings: How a file begins that may be overwritten; an empty one may be.
        records: Record files, which must not be overwritten.

    Raises:
        InputError: The file is a record, or exists and is something else than the option writes.
        OSError: The file cannot be written.
    """
    fix = f"Give another {option}."
    where, path = str(path), path.resolve()  # a link stays, and the file that it names need not exist
    if path in [record.resolve() for record in records]:
        raise InputError("is a record", where=where, fix=fix)
    existed = path.exists()
    check_regular(path, fix)
    if path.is_file() and path.stat().st_size:
        with path.open("rb") as file:
            if not file.read(512).lstrip().startswith(beginnings):
                raise InputError(f"the file exists already and is not what {option} writes", where=where, fix=fix)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.open("ab").close()
    if not existed:
        path.unlink()
