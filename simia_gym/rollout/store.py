"""The file that a rollout writes: one JSON line per finished episode, and nothing is ever lost that was finished.

A line is appended with one write and one flush, so a killed process leaves at most one torn line at the end, which is
cut off and redone. Lines hold no times, so that the same episode is the same bytes; times go to a sidecar file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.common.json_encoding import encode
from simia_gym.common.locks import take_lock
from simia_gym.domain.naming import slug
from simia_gym.errors import InputError
from simia_gym.record.records import Record, read_records
from simia_gym.rollout.jobs import Plan
from simia_gym.types import JsonObject

_LONGEST = 300
_DEFAULTS = EnvConfig.defaults()


def sidecar(path: Path) -> Path:
    """Where the times of a record file stand: ``a.jsonl`` -> ``a.times.jsonl``."""
    stem = path.name.removesuffix(".jsonl")
    return path.with_name(f"{stem}.times.jsonl")


def record_path(env: str, policy: str, *, resume: bool, folder: Path = Path("runs")) -> Path:
    """Choose the record's path: the first number that is free, or the last one used where that is to be continued."""
    stem = f"{slug(env.removeprefix('simia/'))}-{slug(policy)}"
    number = 1
    while (folder / f"{stem}-{number}.jsonl").exists():
        number += 1
    return folder / f"{stem}-{max(1, number - 1) if resume else number}.jsonl"


class RecordStore:
    """An append-only record file. Make one with `create_store` or `resume_store`, and use it as a context.

    Attributes:
        path: The record file.
        finished: Valid episodes that were in the file when it was opened, by key.
    """

    def __init__(self, path: Path, lines: IO[bytes], finished: Mapping[str, Record]) -> None:
        self.path, self.finished = path, dict(finished)
        self._lines = lines
        self._times: IO[bytes] = sidecar(path).open("ab", buffering=0)

    def write(self, line: bytes, times: JsonObject) -> None:
        """Append one finished episode.

        Args:
            line: Its line, as `Record.to_line` gives it.
            times: What goes to the sidecar file.

        Raises:
            InputError: The disk refused it.
        """
        try:
            _append(self._lines, line)
            _append(self._times, encode(times) + b"\n")
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


class NoStore(RecordStore):
    """Keeps no record."""

    def __init__(self) -> None:
        self.path, self.finished = Path(os.devnull), {}

    def write(self, line: bytes, times: JsonObject) -> None:
        """Keep nothing."""

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""


class TakenError(InputError):
    """A record is to begin in a file that exists already."""


def create_store(path: Path) -> RecordStore:
    """Begin a new record.

    Raises:
        TakenError: The file exists already.
        InputError: It cannot be made.
    """
    try:
        if path.is_dir():
            raise InputError("is a folder", where=str(path), fix="Give --out a file in it.")
        if path.exists() or path.is_symlink():
            raise _taken(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lines = _locked(path, new=True)
        except FileExistsError:  # made by another process at this very moment
            raise _taken(path) from None
        try:
            return RecordStore(path, lines, {})
        except OSError:
            lines.close()
            path.unlink()  # it is as empty as it was made
            raise
    except OSError as error:
        raise _unwritable(path, error) from error


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
    lines: IO[bytes] | None = None
    try:
        if not path.exists():
            return create_store(path)
        if not path.is_file():
            raise InputError("is not a regular file", where=str(path), fix="Give another --out.")
        lines = _locked(path)
        *complete, torn = path.read_bytes().split(b"\n")
        finished: dict[str, Record] = {}
        for record in read_records(path, torn="skip"):
            _same_settings(record, plan, path)
            if record.valid:
                finished.setdefault(record.key, record)
        kept = [complete[record.line - 1] for record in finished.values()]
        if torn or len(kept) != len(complete):
            lines = _replaced(path, lines, kept)
        return RecordStore(path, lines, finished)
    except OSError as error:
        raise _unwritable(path, error) from error
    except InputError:
        if lines is not None:
            lines.close()
        raise


def _taken(path: Path) -> TakenError:
    fix = "Give --resume to continue it, or another --out."
    return TakenError("the file exists already", where=str(path), fix=fix)


def _locked(path: Path, *, new: bool = False) -> IO[bytes]:
    """Open for appending, unbuffered, and make sure that nobody else has it open so."""
    lines = path.open("xb" if new else "ab", buffering=0)
    if take_lock(lines.fileno(), path):
        return lines
    lines.close()
    raise InputError("another rollout is writing to it", where=str(path), fix="Wait for it, or give another --out.")


def _append(file: IO[bytes], data: bytes) -> None:
    """Hand everything to the system: one write, unless it takes less than it was given."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _replaced(path: Path, lines: IO[bytes], kept: Iterable[bytes]) -> IO[bytes]:
    """Rewrite the file in one step: whoever is killed here leaves the old file or the new one, and keeps the lock."""
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    fresh = _locked(partial)
    _append(fresh, b"".join(line + b"\n" for line in kept))
    os.fsync(fresh.fileno())
    partial.replace(path)
    lines.close()
    return fresh


def _same_settings(record: Record, plan: Plan, path: Path) -> None:
    have = {**_DEFAULTS, **record.config, "policy": record.policy, **record.run, "domain_hash": record.domain_hash}
    want = {**_DEFAULTS, **plan.settings()}
    for name in [*want, *(name for name in have if name not in want)]:
        if have.get(name) != want.get(name):
            raise InputError(
                f"was written with {_named(name, have.get(name))}, and this run has {_named(name, want.get(name))}",
                where=f"{path}:{record.line}",
                fix="Resume with the same settings, or give another --out.",
            )


def _named(name: str, value: Any) -> str:
    if value is None and name in ("user", "max_turns"):
        return f"the domain's own {name}"
    return f"{name}={value!r}" if value not in (None, {}) else f"no {name}"


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot be written ({error.strerror})", where=_short(str(path)), fix="Give another --out.")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
