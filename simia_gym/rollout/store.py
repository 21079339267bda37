"""Record files: one JSON line per finished episode.

Each line is appended with one unbuffered write, so a killed process leaves at most one incomplete line at the end;
--resume removes it and plays that episode again. The blobs of a line are written before it. Lines contain no times, so
the same episode gives the same bytes; times go to a sidecar file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

from simia_gym.assembly.settings import EnvConfig
from simia_gym.common.files import check_regular
from simia_gym.common.formatting import slug
from simia_gym.common.json_encoding import decode, encode
from simia_gym.common.locks import take_lock
from simia_gym.common.writing import append, check_room
from simia_gym.errors import InputError
from simia_gym.record.blobs import BlobFile, blob_path
from simia_gym.record.records import Record, read_lines, record_from_json
from simia_gym.rollout.jobs import Plan
from simia_gym.types import JsonObject

_DEFAULTS = EnvConfig.defaults()


def sidecar(path: Path) -> Path:
    """Path of the sidecar file with the times of a record: ``a.jsonl`` -> ``a.times.jsonl``."""
    stem = path.name.removesuffix(".jsonl")
    return path.with_name(f"{stem}.times.jsonl")


def record_path(env: str, policy: str, *, resume: bool, folder: Path = Path("runs")) -> Path:
    """The path of a record without --out: the first free number, or with ``resume`` the number before it."""
    stem = f"{slug(env.removeprefix('simia/'))}-{slug(policy)}"
    number = 1
    while (folder / f"{stem}-{number}.jsonl").exists():
        number += 1
    return folder / f"{stem}-{max(1, number - 1) if resume else number}.jsonl"


class Place(NamedTuple):
    """Where an episode stands in a record file: its line, from 1, and the line's first byte and size."""

    task: str
    member: int
    line: int
    start: int
    size: int


class FinishedEpisodes(Mapping[str, Record]):
    """The episodes of a record file by their keys; each is read when it is asked for, so that none fills the memory.

    Attributes:
        places: Where each episode stands.
    """

    def __init__(self, path: Path, places: Mapping[str, Place]) -> None:
        self._path, self.places = path, dict(places)

    def __getitem__(self, key: str) -> Record:
        """Read an episode."""
        place = self.places[key]
        with self._path.open("rb") as file:
            line = decode(line_at(file, place))
        return record_from_json(line, f"{self._path}:{place.line}", BlobFile(blob_path(self._path)), place.line)

    def __iter__(self) -> Iterator[str]:
        """The keys, in the order of the file."""
        return iter(self.places)

    def __len__(self) -> int:
        """The number of episodes."""
        return len(self.places)


def line_at(file: IO[bytes], place: Place) -> bytes:
    """A line of a record file, with its newline."""
    file.seek(place.start)
    return file.read(place.size)


class RecordStore:
    """An append-only record file. Create it with `create_store` or `resume_store`, and use it as a context manager.

    Attributes:
        path: The record file.
        blobs: The blobs beside it.
        finished: The valid episodes that were in the file when it was opened.
    """

    def __init__(self, path: Path, lines: IO[bytes], finished: Mapping[str, Place]) -> None:
        self.path, self.finished = path, FinishedEpisodes(path, finished)
        self.blobs = BlobFile(blob_path(path))
        self._lines = lines
        self._times: IO[bytes] = _whole_lines(sidecar(path))

    def write(self, line: bytes, times: JsonObject, blobs: Mapping[str, bytes]) -> None:
        """Append one finished episode: its line from `Record.to_line`, its entry of the sidecar file, and its blobs.

        Raises:
            StorageError: A file cannot be written.
        """
        self.blobs.add(blobs)
        append(self._lines, line)
        append(self._times, encode(times) + b"\n")

    def check_room(self) -> None:
        """Check before an episode begins that it can be written.

        Raises:
            StorageError: The disk is almost full.
        """
        check_room(self.path)

    def __enter__(self) -> RecordStore:
        """Use the store as a context."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files."""
        self.blobs.close()
        self._lines.close()
        self._times.close()


class NoStore(RecordStore):
    """A store that discards all episodes."""

    def __init__(self) -> None:
        self.path = Path(os.devnull)
        self.finished = FinishedEpisodes(self.path, {})

    def write(self, line: bytes, times: JsonObject, blobs: Mapping[str, bytes]) -> None:
        """Discard the episode."""

    def check_room(self) -> None:
        """Do nothing."""

    def __exit__(self, *_: object) -> None:
        """Do nothing: there is no file to close."""


class TakenError(InputError):
    """The file of a new record already exists."""


def create_store(path: Path) -> RecordStore:
    """Create a new record.

    Raises:
        TakenError: The file already exists.
        InputError: It is a folder.
        OSError: The file or its sidecar cannot be created; neither is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        lines = _locked(path, new=True)
    except FileExistsError:
        fix = "Give --resume to continue it, or another --out."
        raise TakenError("the file exists already", where=str(path), fix=fix) from None
    try:
        return RecordStore(path, lines, {})
    except OSError:
        lines.close()
        path.unlink()
        raise


def resume_store(path: Path, plan: Plan) -> RecordStore:
    """Continue a record, or create it if it does not exist yet.

    An incomplete last line and the lines of invalid episodes are removed; those episodes are played again. The lines
    that stay are checked as `Record.check_result` does; they are not replayed.

    Raises:
        InputError: The record was written with other settings, or a line other than the last is broken or was
            altered.
        OSError: The file cannot be read or written.
    """
    if not path.exists():
        return create_store(path)
    lines = _locked(path)
    try:
        finished: dict[str, Place] = {}
        read = end = 0
        for record, raw in read_lines(path, torn="skip"):
            _same_settings(record, plan, path)
            if record.valid:
                try:
                    record.check_result()
                except InputError as error:
                    raise InputError(error.what, where=f"{path}:{record.line}", fix=error.fix) from None
                place = Place(record.task, record.member, record.line, end, len(raw) + 1)
                finished.setdefault(record.key, place)
            read, end = read + 1, end + len(raw) + 1
        if end < path.stat().st_size or len(finished) != read:
            lines, finished = _replaced(path, lines, finished)
        return RecordStore(path, lines, finished)
    except (InputError, OSError):
        lines.close()
        raise


def _locked(path: Path, *, new: bool = False) -> IO[bytes]:
    """Open a file for appending, unbuffered, and lock it."""
    fix = "Give another --out."
    if path.is_dir():
        raise InputError("is a folder", where=str(path), fix=fix)
    for file in (path, sidecar(path)):
        check_regular(file, fix)
    lines = path.open("xb" if new else "ab", buffering=0)
    if take_lock(lines.fileno(), path):
        return lines
    lines.close()
    raise InputError("another rollout is writing to it", where=str(path), fix="Wait for it, or give another --out.")


def _whole_lines(path: Path) -> IO[bytes]:
    """Open a file for appending, without the torn last line or the zeros that a stopped writer left."""
    file = path.open("ab", buffering=0)
    os.ftruncate(file.fileno(), path.read_bytes().rfind(b"\n") + 1)
    return file


def _replaced(path: Path, lines: IO[bytes], kept: Mapping[str, Place]) -> tuple[IO[bytes], dict[str, Place]]:
    """Rewrite the file atomically and keep it locked: a process killed here leaves the old file or the new one.

    Returns:
        The file, and where the episodes stand in it.
    """
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    fresh, moved = _locked(partial), dict[str, Place]()
    end = 0
    with path.open("rb") as old:
        for number, (key, place) in enumerate(kept.items(), start=1):
            append(fresh, line_at(old, place))
            moved[key] = place._replace(line=number, start=end)
            end += place.size
    os.fsync(fresh.fileno())
    partial.replace(path)
    lines.close()
    return fresh, moved


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
