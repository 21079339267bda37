"""Record files: one line per finished episode, and functions to read them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from simia_gym.common.dotted_names import load_object
from simia_gym.common.files import check_regular
from simia_gym.common.json_encoding import decode, encode
from simia_gym.errors import InputError
from simia_gym.record.blobs import BLOBS, BlobFile, blob_path, with_large, without_large
from simia_gym.record.ledger import Ledger
from simia_gym.types import JsonObject

VERSION = 2
BEGINNING = b'{"v":2,"key":"'
"""The first bytes of every line."""

_SHOWN = 40
_PAGE = "simia_gym.viewer.notebook:html_of_record"
"""What shows a record; pages are made from records, and so it is found by its name."""
_EVENTS = b',"events":['
"""Where the events of a line begin; within a text its quotes would be escaped."""
_AS_WRITTEN = "Give a file that `simia rollout` wrote, as it wrote it."


@dataclass(frozen=True, slots=True)
class Record:
    """One finished episode, as in a line of a record file.

    Attributes:
        line: Line number in its file, from 1; 0 if it does not come from a file.
        key: Content hash of settings, domain, task, policy, seed and member.
        run: Rollout settings that all its lines share: ``seed``, ``group`` and, for custom policies, ``policy_hash``.
        config: The environment's settings.
        domain_hash: Content hash of the domain.
        task: The task's id.
        kind: The task's kind.
        split: The task's split.
        seed: The episode's own seed.
        group: Id of its group.
        member: Number of this episode among the episodes of the task, from 0.
        policy: Name of the policy.
        reward: The reward; ``None`` if the episode is invalid.
        valid: Whether the episode has a reward; mask invalid episodes in training.
        success: Whether the episode met all criteria that success requires.
        score: Weighted score of the rubric; ``None`` if there is none.
        turns: Number of actions of the policy.
        ended: Why the episode ended.
        verdict: The whole verdict as JSON.
        fault: Role, kind and message of the fault; ``None`` if there was none.
        events: The events of the ledger.
        head: The ledger's head hash, 64 hex digits.
        blobs: The values that the record keeps by hash; see `content`.
    """

    line: int
    key: str
    run: JsonObject
    config: JsonObject
    domain_hash: str
    task: str
    kind: str
    split: str
    seed: int
    group: str
    member: int
    policy: str
    reward: float | None
    valid: bool
    success: bool
    score: float | None
    turns: int
    ended: str
    verdict: JsonObject
    fault: JsonObject | None
    events: list[JsonObject]
    head: str
    blobs: Mapping[str, bytes] = field(default_factory=dict, compare=False, repr=False)

    def to_json(self) -> JsonObject:
        """The line's JSON object with its large values, in the file's key order."""
        return {"v": VERSION, **{name: getattr(self, name) for name in _FIELDS if name != "v"}}

    def to_line(self, ledger: Ledger | None = None) -> bytes:
        """The encoded line, with its newline; its large values are among the blobs.

        Args:
            ledger: The ledger of the events, to save encoding them again; it takes the large values.

        Raises:
            InputError: The record contains something that is not JSON.
        """
        line = self.to_json()
        head = encode(line.pop("head"))
        recorded = line.pop("events")
        kept: dict[str, bytes] = {} if ledger is None else ledger.blobs
        events = [without_large(event, kept) for event in recorded] if ledger is None else ledger.encoded
        line_ = without_large(line, kept)
        return b"".join((line_[:-1], b',"events":[', b",".join(events), b'],"head":', head, b"}\n"))

    @property
    def start(self) -> JsonObject:
        """The event ``start``; empty if the episode could not begin."""
        first = self.events[0] if self.events else {}
        return first if first.get("type") == "start" else {}

    def content(self, name: str) -> Any:
        """What the episode was played with, as it was then.

        Args:
            name: ``system`` (the system message), ``native_system`` (what the policy was shown in its place, if its
                model was given the tools beside the messages), ``tools`` (the entries of ``tools.json``), ``task``, or
                ``state`` (the tables before the task's own changes).

        Raises:
            InputError: The episode could not begin, or the value is missing or damaged.
        """
        named = self.start.get("content", {})
        if name not in named:
            what = f"the episode could not begin and has no {name}" if not self.start else f"there is no {name}"
            raise InputError(what, where=f"record of {self.task}", fix="Leave it out.")
        return decode(self.blobs[named[name]])

    def check_result(self) -> None:
        """Check that the events are those that were recorded, and that the line repeats their result.

        Whether the world, the models and the reward would say the same again is what only a replay can tell.

        Raises:
            InputError: An event or a field was altered; names the field.
        """
        Ledger.verify(self.events, self.head)
        for name, value in self.said_by_events().items():
            if encode(getattr(self, name)) != encode(value):
                raise InputError(f"its {name} is not that of its events", fix="Restore the file, or take the line out.")

    def said_by_events(self) -> JsonObject:
        """The fields of the line that repeat what the events say, as these say it."""
        said: JsonObject = {"turns": len(self.actions)}
        for event in self.events:
            if event["type"] == "start":
                said |= {name: event.get(name) for name in ("task", "kind", "split", "seed")}
            elif event["type"] == "end":
                said["ended"] = event.get("reason")
            elif event["type"] == "fault":
                said["ended"] = "fault"
            elif event["type"] == "verdict":
                said["verdict"] = {name: value for name, value in event.items() if name not in ("i", "type")}
        verdict = said.get("verdict", {})
        return said | {name: verdict.get(name) for name in ("reward", "valid", "success", "score", "fault")}

    def _repr_html_(self) -> str:
        """The episode in a notebook."""
        show: Any = load_object(_PAGE)
        return str(show(self))

    @property
    def actions(self) -> list[str]:
        """The texts of the policy's actions, in order."""
        return [event["text"] for event in self.events if event["type"] == "action"]


_TYPES: dict[Any, type | tuple[type, ...]] = {
    "int": int,
    "str": str,
    "bool": bool,
    "float | None": (int, float, type(None)),
    "JsonObject": dict,
    "JsonObject | None": (dict, type(None)),
    "list[JsonObject]": list,
}
_FIELDS = {"v": int, **{each.name: _TYPES[each.type] for each in fields(Record) if each.name not in ("line", "blobs")}}
"""The keys of a line in file order, with their types; `Record.to_line` requires ``events`` and ``head`` to be last."""


def record_from_json(value: Any, where: str, blobs: Mapping[str, bytes], line: int = 0) -> Record:
    """Make a record from a decoded line, which is changed.

    Args:
        value: The decoded line.
        where: Its file and line, for errors.
        blobs: The blobs of the record.
        line: Its number.

    Raises:
        InputError: The value is not a record, or a blob is missing or damaged; names the field or the blob.
    """
    no_record = "Give a file that `simia rollout` wrote."
    if not isinstance(value, dict):
        raise InputError("is no record: not a JSON object", where=where, fix=no_record)
    for name in _FIELDS:
        if name not in value:
            raise InputError(f"is no record: it has no {name!r}", where=where, fix=no_record)
    if value["v"] != VERSION:
        what = f"is of version {value['v']}, and this package reads {VERSION}"
        raise InputError(what, where=where, fix="Read it with the version that wrote it, or play its episodes again.")
    with_large(value, blobs, where)
    for name, types in _FIELDS.items():
        if not isinstance(value[name], types) or (types is int and isinstance(value[name], bool)):
            raise InputError(f"{name!r} is {str(value[name])[:_SHOWN]!r}", where=where, fix="Restore the file.")
    _check_result(value, where)
    for number, event in enumerate(value["events"]):
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            raise InputError(f"event {number} has no type", where=where, fix="Restore the file.")
        if BLOBS in event:
            with_large(event, blobs, f"{where}: event {number}")
        if event["type"] == "action" and not isinstance(event.get("text"), str):
            raise InputError(f"event {number} is an action without text", where=where, fix="Restore the file.")
    return Record(line=line, blobs=blobs, **{name: value[name] for name in _FIELDS if name != "v"})


def _check_result(value: JsonObject, where: str) -> None:
    """Check that the settings and the result of a line are such as an episode can have."""
    if not isinstance(value["config"].get("env"), str):
        raise InputError("its config names no 'env'", where=where, fix="Restore the file.")
    reward = value["reward"]
    if isinstance(reward, bool) or not (reward is None or 0 <= reward <= 1):
        raise InputError(f"'reward' is {reward}, and rewards lie from 0 to 1", where=where, fix="Restore the file.")
    if type(value["run"].get("seed", 0)) is not int:
        raise InputError(f"its seed is {value['run']['seed']!r}", where=where, fix="Restore the file.")
    if value["valid"] and reward is None:
        raise InputError("it is valid and has no reward", where=where, fix="Restore the file.")


def is_torn(tail: bytes) -> bool:
    """Whether a last line without newline is the beginning of a record line rather than other text.

    A machine that lost its power may leave zeros after it, or instead of it.
    """
    tail = tail.rstrip(b"\0")
    return tail.startswith(BEGINNING) or BEGINNING.startswith(tail)


def read_record_at(path: Path, offset: int, line: int) -> Record:
    """Read one episode whose place in its file is known.

    Args:
        path: The file.
        offset: Where its line begins, in bytes.
        line: The number of that line, for errors.

    Raises:
        InputError: No record stands there.
    """
    try:
        with path.open("rb") as file:
            file.seek(offset)
            raw = file.readline()
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path), fix="Check the path.") from error
    return _record_of(raw, f"{path}:{line}", BlobFile(blob_path(path)), line)


def _record_of(raw: bytes, where: str, blobs: BlobFile, line: int) -> Record:
    try:
        value = decode(raw)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {error}", where=where, fix=_AS_WRITTEN) from error
    return record_from_json(value, where, blobs, line)


def read_records(path: Path | str, *, torn: Literal["error", "skip"] = "error") -> Iterator[Record]:
    """Read a record file line by line.

    Args:
        path: The file.
        torn: How to treat a last line without newline, which a killed process leaves: raise an error or skip it.

    Yields:
        The records, in file order.

    Raises:
        InputError: The file is missing or unreadable, or a line is broken; names file and line.
    """
    for record, _ in read_lines(path, torn=torn):
        yield record


def read_lines(path: Path | str, *, torn: Literal["error", "skip"] = "error") -> Iterator[tuple[Record, bytes]]:
    """Like `read_records`; yields each record with its line without newline."""
    path = Path(path)
    blobs = BlobFile(blob_path(path))
    for number, _, raw in _raw_lines(path, torn):
        yield _record_of(raw, f"{path}:{number}", blobs, number), raw.removesuffix(b"\n")


def read_results(path: Path, wanted: Collection[str]) -> Iterator[tuple[Record, int]]:
    """Read the result of each finished episode, for whoever needs few of the events: several times as fast.

    Args:
        path: The file; a torn last line is skipped.
        wanted: Types of events. A record has its events if one of them is of such a type, and else none.

    Yields:
        Each record, and where its line begins, in bytes.
    """
    blobs = BlobFile(blob_path(path))
    marks = [f'"type":"{name}"'.encode() for name in wanted]
    for number, offset, raw in _raw_lines(path, "skip"):
        where = f"{path}:{number}"
        head, _, events = raw.partition(_EVENTS)
        if not any(mark in events for mark in marks):
            with suppress(InputError):  # then the whole line says what is wrong, or that nothing is
                yield _record_of(head + b',"events":[],"head":""}', where, blobs, number), offset
                continue
        yield _record_of(raw, where, blobs, number), offset


def _raw_lines(path: Path, torn: Literal["error", "skip"]) -> Iterator[tuple[int, int, bytes]]:
    """The whole lines of a file: number, where it begins, and its bytes with the newline."""
    offset = 0
    try:
        check_regular(path)
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                where = f"{path}:{number}"
                if not raw.endswith(b"\n"):
                    if not is_torn(raw):
                        raise InputError("is no record: its last line is none", where=where, fix=_AS_WRITTEN)
                    if torn == "skip":
                        return
                    raise InputError(
                        "the line is torn, its writer was stopped", where=where, fix="Finish it with --resume."
                    )
                yield number, offset, raw
                offset += len(raw)
    except FileNotFoundError as error:
        raise InputError("there is no such record", where=str(path), fix="Check the path.") from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path), fix="Check the path.") from error
