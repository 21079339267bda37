"""The list of episodes: what one line says of each, and where its record stands."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from simia_gym.errors import InputError
from simia_gym.record.records import BEGINNING, Record, read_lines, read_results
from simia_gym.viewer.times import TIMES

_COUNTED = ("invalid", "model", "unread")
"""The events that a row counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One episode in the list.

    Attributes:
        number: Its place in the list, from 0.
        path: Its record file.
        offset: Where its line begins in that file, in bytes.
        line: The number of that line.
        task: The task's id.
        member: Which episode of the task it is.
        kind: The task's kind.
        split: The task's split.
        policy: Name of the policy.
        reward: The reward; ``None`` if the verdict is invalid.
        success: Whether the task was solved.
        fault: Role and kind of the fault; empty if there was none.
        turns: Actions of the policy.
        tokens: Tokens of all models; ``None`` if none took part.
        ended: Why the episode ended.
        missed: The criteria that were not met.
        invalid: The codes of invalid actions, one for each.
    """

    number: int
    path: Path
    offset: int
    line: int
    task: str
    member: int
    kind: str
    split: str
    policy: str
    reward: float | None
    success: bool
    fault: str
    turns: int
    tokens: int | None
    ended: str
    missed: tuple[str, ...]
    invalid: tuple[str, ...]

    @property
    def result(self) -> str:
        """How it went, in one word: ``invalid``, ``success`` or ``failure``."""
        return "invalid" if self.reward is None else "success" if self.success else "failure"


class Missed(NamedTuple):
    """How often a criterion was judged, and how often it was not met."""

    name: str
    kind: str
    failed: int
    judged: int


class Overview:
    """All episodes of some records, with what they have in common.

    Attributes:
        rows: The episodes.
        torn: The files whose last line is torn and left out.
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.torn: list[Path] = []
        self._kinds: dict[str, str] = {}
        self._failed: Counter[str] = Counter()
        self._judged: Counter[str] = Counter()

    def add(self, record: Record, path: Path, offset: int) -> Row:
        """Add an episode."""
        missed = []
        for item in record.verdict.get("criteria", ()):
            if item["passed"] is not None:
                self._kinds[item["id"]] = item["kind"]
                self._judged[item["id"]] += 1
                if not item["passed"]:
                    missed.append(item["id"])
        self._failed.update(missed)
        fault = record.fault
        row = Row(
            number=len(self.rows),
            path=path,
            offset=offset,
            line=record.line,
            task=record.task,
            member=record.member,
            kind=record.kind,
            split=record.split,
            policy=record.policy,
            reward=record.reward if record.valid else None,
            success=record.success,
            fault="" if fault is None else f"{fault['role']}: {fault['kind']}",
            turns=record.turns,
            tokens=tokens_of(record),
            ended=record.ended,
            missed=tuple(missed),
            invalid=tuple(event["code"] for event in record.events if event["type"] == "invalid"),
        )
        self.rows.append(row)
        return row

    @property
    def criteria(self) -> list[Missed]:
        """The criteria, those first that were missed most often."""
        found = [Missed(name, self._kinds[name], self._failed[name], self._judged[name]) for name in self._judged]
        return sorted(found, key=lambda one: (-one.failed, one.name))

    @property
    def codes(self) -> list[tuple[str, int]]:
        """The codes of invalid actions, the most frequent first."""
        return Counter(code for row in self.rows for code in row.invalid).most_common()

    @property
    def results(self) -> Counter[str]:
        """How many episodes went how."""
        return Counter(row.result for row in self.rows)

    def values(self, name: str) -> list[str]:
        """The different values of a text column, sorted."""
        return sorted({str(getattr(row, name)) for row in self.rows})


def tokens_of(record: Record) -> int | None:
    """The tokens that all models read and wrote; ``None`` if no model took part."""
    used = [event["usage"] for event in record.events if event["type"] in ("model", "unread")]
    return sum(sum(usage.get(name, 0) for name in ("prompt", "completion")) for usage in used) if used else None


def overview_of(paths: Iterable[Path]) -> Overview:
    """Read records once, keeping a row of each episode.

    Args:
        paths: The record files.

    Raises:
        InputError: A file cannot be read, or there is no finished episode in any of them.
    """
    overview = Overview()
    paths = list(paths)
    for path in paths:
        for record, offset in read_results(path, _COUNTED):
            overview.add(record, path, offset)
        if not _ends_whole(path):
            overview.torn.append(path)
    if not overview.rows:
        where = ", ".join(map(str, paths))
        raise InputError("there is no finished episode in it", where=where, fix="Give another record.")
    return overview


def _ends_whole(path: Path) -> bool:
    """Whether the last line of a file that is not empty ends."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        return file.read() in (b"", b"\n")


def records_in(folder: Path) -> list[Path]:
    """The record files of a folder, by name.

    Raises:
        InputError: There is none.
    """
    found = sorted(path for path in folder.glob("*.jsonl") if not path.name.endswith(TIMES) and _is_record(path))
    if not found:
        fix = "Give a record, or a folder in which `simia rollout` wrote some."
        raise InputError("there is no record in this folder", where=str(folder), fix=fix)
    return found


def _is_record(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(BEGINNING)) == BEGINNING


def records_of(rows: Sequence[Row]) -> Iterator[tuple[Row, Record]]:
    """The records of rows that stand in the order of their files, each read once."""
    by_file: dict[Path, dict[int, Row]] = {}
    for row in rows:
        by_file.setdefault(row.path, {})[row.line] = row
    for path, lines in by_file.items():
        for record, _ in read_lines(path, torn="skip"):
            if record.line in lines:
                yield lines[record.line], record
