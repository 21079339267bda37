"""The file that a rollout writes: one JSON line per finished episode, and nothing is ever lost that was finished.

A line is appended with one write and one flush, so a killed process leaves at most one torn line at the end, which is
cut off and redone. Lines hold no times, so that the same episode is the same bytes; times go to a sidecar file.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from simia_gym.encoding import encode
from simia_gym.errors import InputError
from simia_gym.rollout.jobs import Plan
from simia_gym.rollout.records import Record, read_records
from simia_gym.types import JsonObject


def sidecar(path: Path) -> Path:
    """Where the times of a record file stand: ``a.jsonl`` -> ``a.times.jsonl``."""
    stem = path.name.removesuffix(".jsonl")
    return path.with_name(f"{stem}.times.jsonl")


class RecordStore:
    """An append-only record file. Make one with `create_store` or `resume_store`, and use it as a context.

    Attributes:
        path: The record file.
        finished: Valid episodes that were in the file when it was opened, by key.
    """

    def __init__(self, path: Path, finished: Mapping[str, Record]) -> None:
        self.path, self.finished = path, dict(finished)
        self._lines: IO[bytes] = path.open("ab", buffering=0)
        try:
            fcntl.flock(self._lines, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lines.close()
            raise InputError(
                "another rollout is writing to it", where=str(path), fix="Wait for it, or give another --out."
            ) from error
        self._times: IO[bytes] = sidecar(path).open("ab", buffering=0)

    def write(self, line: JsonObject, times: JsonObject) -> None:
        """Append one finished episode.

        Raises:
            InputError: The disk refused it.
        """
        try:
            self._lines.write(encode(line) + b"\n")
            self._times.write(encode(times) + b"\n")
        except OSError as error:
            raise InputError(
                f"cannot be written ({error.strerror})", where=str(self.path), fix="Make room, then give --resume."
            ) from error

    def __enter__(self) -> RecordStore:
        """Use the store as a context."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close both files."""
        self._lines.close()
        self._times.close()


def create_store(path: Path) -> RecordStore:
    """Begin a new record.

    Raises:
        InputError: The file exists already, or cannot be made.
    """
    if path.exists() or path.is_symlink():
        raise InputError(
            "the file exists already", where=str(path), fix="Give --resume to continue it, or another --out."
        )
    return _open(path, {})


def resume_store(path: Path, plan: Plan) -> RecordStore:
    """Continue a record, or begin it where it does not exist yet.

    A torn last line and the lines of episodes that a fault made invalid are taken out; those episodes run again.

    Args:
        path: The record file.
        plan: The settings of this run.

    Returns:
        The store, with the episodes that need not run again.

    Raises:
        InputError: The file was written with other settings; a line in its middle is broken.
    """
    if not path.exists():
        return _open(path, {})
    if not path.is_file():
        raise InputError("is not a regular file", where=str(path), fix="Give another --out.")
    whole = path.read_bytes()
    kept: list[bytes] = []
    finished: dict[str, Record] = {}
    lines = whole.split(b"\n")
    complete, torn = lines[:-1], lines[-1]
    for record in read_records(path, torn="skip"):
        _same_settings(record, plan, path)
        if record.valid and record.key not in finished:
            finished[record.key] = record
            kept.append(complete[record.line - 1])
    if torn or len(kept) != len(complete):
        _replace(path, kept)
    return _open(path, finished)


def _same_settings(record: Record, plan: Plan, path: Path) -> None:
    have = {
        **record.config,
        "domain_hash": record.domain_hash,
        "policy": record.policy,
        "seed": record.run.get("seed"),
        "group": record.run.get("group"),
    }
    want = plan.settings()
    for name in [*want, *(name for name in have if name not in want)]:
        if have.get(name) != want.get(name):
            raise InputError(
                f"was written with {_named(name, have.get(name))}, and this run has {_named(name, want.get(name))}",
                where=f"{path}:{record.line}",
                fix="Resume with the same settings, or give another --out.",
            )


def _named(name: str, value: Any) -> str:
    shown = value[:12] if name == "domain_hash" and isinstance(value, str) else value
    return f"{name}={shown!r}"


def _replace(path: Path, lines: Iterable[bytes]) -> None:
    """Rewrite the file in one step: whoever is killed here leaves the old file or the new one."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        file.writelines(line + b"\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def _open(path: Path, finished: Mapping[str, Record]) -> RecordStore:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return RecordStore(path, finished)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", where=str(path), fix="Give another --out.") from error
