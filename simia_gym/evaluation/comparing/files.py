"""The records of one side: where each episode stands in its file, so that only one at a time is in memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from sys import intern
from typing import IO, Any

from simia_gym.common.json_encoding import decode, encode
from simia_gym.errors import InputError
from simia_gym.evaluation.comparing.pairing import settings_of
from simia_gym.record.blobs import BlobFile, blob_path
from simia_gym.record.records import VERSION, Record, is_torn, record_from_json
from simia_gym.types import JsonObject

_HEAD_ENDS = b',"reward":'
"""What follows the settings in a line; within a text its quotes would be escaped."""
_SETTINGS = ("config", "run", "domain_hash", "task", "member", "policy")

_PLACE = 4
Key = tuple[str, str, int]
"""Policy, task and member of an episode."""


class Records:
    """The records of one side.

    Args:
        paths: The record files, or folders of them.

    Attributes:
        paths: The record files.
        env: The environment.
        domain_hash: Its version.
        settings: The settings that all episodes share, but for the policy.
        policies: The policies in order, each with its hash or ``None``.
        warnings: Lines for the reader.

    Raises:
        InputError: A file cannot be read, holds an episode twice or several settings, or there is no episode.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = [*record_files(paths)]
        self.policies: dict[str, str | None] = {}
        self.warnings: list[str] = []
        self.env = self.domain_hash = ""
        self.settings: dict[str, Any] = {}
        self._shared: bytes | None = None
        self._rows: dict[Key, int] = {}
        # Where each line stands: the number of its file and of the line, its start and its length.
        self._places = array("q")
        self._open: dict[int, tuple[IO[bytes], BlobFile]] = {}
        for number in range(len(self.paths)):
            self._index(number)
        if not self._rows:
            where = ", ".join(map(str, paths))
            raise InputError("there is no finished episode in it", where=where, fix="Give another record.")

    def __len__(self) -> int:
        """Number of episodes."""
        return len(self._rows)

    def __iter__(self) -> Iterator[Key]:
        """The episodes in the order of the files."""
        return iter(self._rows)

    def __contains__(self, key: object) -> bool:
        """Whether there is such an episode."""
        return key in self._rows

    def read(self, key: Key) -> Record:
        """Read one episode.

        Raises:
            InputError: Its line is broken.
        """
        at = _PLACE * self._rows[key]
        number, line, start, size = self._places[at : at + _PLACE]
        path = self.paths[number]
        if number not in self._open:
            self._open[number] = path.open("rb"), BlobFile(blob_path(path))
        file, blobs = self._open[number]
        file.seek(start)
        return record_from_json(_decoded(file.read(size), path, line), f"{path}:{line}", blobs, line)

    def close(self) -> None:
        """Close the files."""
        for file, _ in self._open.values():
            file.close()
        self._open.clear()

    def _index(self, number: int) -> None:
        path = self.paths[number]
        start = 0
        try:
            with path.open("rb") as file:
                for line, raw in enumerate(file, start=1):
                    if not raw.endswith(b"\n"):
                        if not is_torn(raw):
                            fix = "Give a file that `simia rollout` wrote, as it wrote it."
                            raise InputError("is no record: its last line is none", where=f"{path}:{line}", fix=fix)
                        self.warnings.append(f"{path}: the last line is torn, its writer was stopped; it is left out")
                        break
                    self._add(_head(raw, path, line), f"{path}:{line}")
                    self._places.extend((number, line, start, len(raw)))
                    start += len(raw)
        except FileNotFoundError as error:
            raise InputError("there is no such record", where=str(path), fix="Check the path.") from error
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", where=str(path), fix="Check the path.") from error

    def _add(self, head: JsonObject, where: str) -> None:
        run = dict(head["run"])
        policy_hash = run.pop("policy_hash", None)
        shared = encode([head["config"], run, head["domain_hash"]])
        if shared != self._shared:
            self._begin(head, run, shared, where)
        if self.policies.setdefault(head["policy"], policy_hash) != policy_hash:
            what = f"it holds two versions of the policy {head['policy']!r}"
            raise InputError(what, where=where, fix="Compare one at a time.")
        key = (intern(head["policy"]), intern(head["task"]), head["member"])
        if key in self._rows:
            what = f"the episode of task {key[1]!r}, member {key[2]}, occurs twice"
            raise InputError(what, where=where, fix="Give each episode once.")
        self._rows[key] = len(self._rows)

    def _begin(self, head: JsonObject, run: JsonObject, shared: bytes, where: str) -> None:
        """Take over the settings of the first line; those of another line must decide the same.

        Raises:
            InputError: They do not.
        """
        settings = settings_of(head["config"], run)
        if self._shared is None:
            self._shared, self.settings = shared, settings
            self.env, self.domain_hash = head["config"]["env"], head["domain_hash"]
            return
        if (self.env, self.domain_hash) != (head["config"]["env"], head["domain_hash"]):
            here = f"{head['config']['env']} {head['domain_hash']}"
            what = f"it is of {here}, the lines before it of {self.env} {self.domain_hash}"
            raise InputError(what, where=where, fix="Compare one domain at a time.")
        for name in dict.fromkeys((*settings, *self.settings)):
            if encode(settings.get(name)) != encode(self.settings.get(name)):
                what = f"its {name} is {settings.get(name)!r}, before it {self.settings.get(name)!r}"
                raise InputError(what, where=where, fix="Give each side one setting.")


def record_files(paths: Sequence[Path]) -> Iterator[Path]:
    """The record files; of a folder, those directly in it."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = sorted(each for each in path.glob("*.jsonl") if not each.name.endswith(".times.jsonl"))
        if not found:
            raise InputError(
                "holds no record", where=str(path), fix="Give a folder of .jsonl files of `simia rollout`."
            )
        yield from found


def _head(raw: bytes, path: Path, line: int) -> JsonObject:
    """The settings of a line, without decoding its events."""
    head: Any = None
    with suppress(ValueError):  # then the whole line says why
        head = decode(raw[: raw.index(_HEAD_ENDS)] + b"}")
    if _is_head(head):
        return dict(head)
    value = _decoded(raw, path, line)
    record_from_json(value, f"{path}:{line}", BlobFile(blob_path(path)), line)
    return {name: value[name] for name in _SETTINGS}


def _is_head(head: Any) -> bool:
    return (
        isinstance(head, dict)
        and head.get("v") == VERSION
        and all(name in head for name in _SETTINGS)
        and isinstance(head["config"], dict)
        and isinstance(head["run"], dict)
        and isinstance(head["config"].get("env"), str)
        and all(isinstance(head[name], str) for name in ("domain_hash", "task", "policy"))
        and type(head["member"]) is int
    )


def _decoded(raw: bytes, path: Path, line: int) -> Any:
    try:
        return decode(raw)
    except (ValueError, RecursionError) as error:
        fix = "Give a file that `simia rollout` wrote, as it wrote it."
        raise InputError(f"not valid JSON: {error}", where=f"{path}:{line}", fix=fix) from error
