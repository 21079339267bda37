"""Reads recorded tasks by path. Pages and candidates stay in the file and are read when they are needed."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from json import JSONDecodeError, loads
from pathlib import Path
from typing import Any

from simia_gym.envs.mind2web.recorded.scan import Buffer, NotJson, decoded, items, members, start_of
from simia_gym.errors import InputError

RANKS = "ranks.json"
"""The file of ranks in a folder of data."""
_LAZY = ("cleaned_html", "pos_candidates", "neg_candidates")
_OPERATIONS = ("CLICK", "SELECT", "TYPE")
_AS_CLICK = ("HOVER", "ENTER")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a file, and the hash of its bytes."""

    path: Path
    start: int
    end: int
    digest: bytes

    def value(self) -> Any:
        """The decoded part; an error if the file has changed since it was read."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.start)
                part = file.read(self.end - self.start)
        except OSError as error:
            raise InputError(f"{self.path} cannot be read any more: {error.strerror}") from None
        if sha256(part).digest() != self.digest:
            raise InputError(f"{self.path} has changed since it was opened; load it again")
        try:
            return loads(part)
        except (JSONDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{self.path}: the value at byte {self.start} is no JSON: {error}") from None


@dataclass(frozen=True, slots=True)
class Candidate:
    """An element that may be chosen."""

    id: str
    tag: str
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One recorded action.

    Attributes:
        task: `annotation_id` of its task.
        uid: `action_uid`.
        index: Its number in the task, from 0.
        op: CLICK, SELECT or TYPE; HOVER and ENTER count as CLICK.
        value: What is selected or typed.
        page: `cleaned_html`, in the file.
        positives: Right candidates, in the file.
        negatives: Other candidates, in the file.
    """

    task: str
    uid: str
    index: int
    op: str
    value: str
    page: Span
    positives: Span
    negatives: Span

    @property
    def key(self) -> str:
        """The name of this step in files of ranks."""
        return f"{self.task}_{self.uid}"

    @property
    def parts(self) -> tuple[Span, Span, Span]:
        """What stays in the file."""
        return self.page, self.positives, self.negatives

    def html(self) -> str:
        """The page."""
        page = self.page.value()
        if not isinstance(page, str):
            raise InputError(f"{self._where(self.page)}: cleaned_html should be a text")
        return page

    def right(self) -> list[Candidate]:
        """The right candidates."""
        return self._candidates(self.positives)

    def wrong(self) -> list[Candidate]:
        """The other candidates."""
        return self._candidates(self.negatives)

    def _where(self, span: Span) -> str:
        return f"{span.path}: task {self.task}, action {self.uid}"

    def _candidates(self, span: Span) -> list[Candidate]:
        found = []
        try:
            for raw in span.value():
                row = loads(raw) if isinstance(raw, str) else raw
                attributes = row.get("attributes") or {}
                attributes = loads(attributes) if isinstance(attributes, str) else attributes
                found.append(Candidate(str(row["backend_node_id"]), str(row["tag"]), dict(attributes)))
        except (JSONDecodeError, KeyError, TypeError, ValueError, AttributeError):
            raise InputError(
                f"{self._where(span)}: candidate {len(found)} should be an object (or its JSON) with tag, attributes "
                "and backend_node_id; take the file as it was released"
            ) from None
        return found


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """A recorded task."""

    id: str
    website: str
    domain: str
    subdomain: str
    request: str
    reprs: tuple[str, ...]
    steps: tuple[Step, ...]


def read_tasks(path: str | Path) -> tuple[RecordedTask, ...]:
    """Every task of a file or of a folder's `*.json` and `*.jsonl` files but `ranks.json`.

    Raises:
        InputError: The data cannot be used; the text says where, and what to do.
    """
    root = Path(path)
    files = [root]
    if root.is_dir():
        files = sorted(p for p in root.rglob("*") if p.suffix in (".json", ".jsonl") and p.name != RANKS)
    if not files:
        raise InputError(f"{root} holds no .json or .jsonl file; give the folder of the release's data")
    tasks: dict[str, RecordedTask] = {}
    for file in files:
        with _opened(file) as buffer:
            found = _rows(file, buffer) if file.suffix == ".jsonl" else _listed(file, buffer)
        for task in found:
            if task.id in tasks:
                raise InputError(f"{file}: task {task.id} is there twice; leave one of them out")
            tasks[task.id] = task
    if not tasks:
        raise InputError(f"{root} holds no task; give the release's data")
    return tuple(tasks.values())


@contextmanager
def _opened(path: Path) -> Iterator[mmap.mmap]:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as buffer:
            yield buffer
    except NotJson as error:
        raise InputError(f"{path}: {error}; is the file whole, and JSON?") from None
    except ValueError as error:
        raise InputError(f"{path} is empty; give the release's JSON") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; give a file or a folder of Mind2Web data") from None


def _forget(buffer: mmap.mmap) -> None:
    """Gives the pages of the file that were looked at back to the system."""
    if hasattr(mmap, "MADV_DONTNEED"):
        buffer.madvise(mmap.MADV_DONTNEED)


def _listed(path: Path, buffer: mmap.mmap) -> list[RecordedTask]:
    start = start_of(buffer, 0)
    if buffer[start : start + 1] != b"[":
        raise InputError(f"{path} should be a list of tasks; rows, one a line, belong into a file named .jsonl")
    tasks = []
    ends: dict[int, int] = {}
    for number, begin in enumerate(items(buffer, start, ends)):
        where = f"{path}: task {number}"
        _check_object(buffer, begin, where)
        actions: list[dict[str, tuple[int, int]]] | None = None
        starts = {}
        for name, place in members(buffer, begin, ends):
            starts[name] = place
            if name == "actions" and buffer[place : place + 1] == b"[":
                places = enumerate(items(buffer, place, ends))
                actions = [_fields(buffer, at, f"{where}, action {index}", ends) for index, at in places]
        known = {name: decoded(buffer, at, ends[at]) for name, at in starts.items() if name != "actions"}
        if "actions" not in starts:
            raise InputError(f"{where}: actions is missing; take the file as it was released")
        where = f"{path}: task {known.get('annotation_id', number)}"
        if actions is None:
            raise InputError(f"{where}: actions should be a list; take the file as it was released")
        steps = [_step(path, buffer, parts, known, index, where) for index, parts in enumerate(actions)]
        tasks.append(_task(known, steps, where))
        end = ends[begin]
        ends.clear()
        ends[begin] = end
        _forget(buffer)
    if start_of(buffer, ends[start]) < len(buffer):
        raise NotJson(f"something stands after the list, at byte {ends[start]}")
    return tasks


def _rows(path: Path, buffer: mmap.mmap) -> list[RecordedTask]:
    """Rows of one action each, put together by their task."""
    groups: dict[str, tuple[dict[str, Any], list[Step]]] = {}
    place = start_of(buffer, 0)
    while place < len(buffer):
        where = f"{path}: row at byte {place}"
        ends: dict[int, int] = {}
        parts = _fields(buffer, place, where, ends)
        heavy = (*_LAZY, "operation", "screenshot")
        known = {name: decoded(buffer, *span) for name, span in parts.items() if name not in heavy}
        try:
            index = int(known["target_action_index"])
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{where}: target_action_index should be a number, such as '0'") from None
        step = _step(path, buffer, parts, known, index, where)
        groups.setdefault(step.task, (known, []))[1].append(step)
        place = start_of(buffer, ends[place])
        _forget(buffer)
    tasks = []
    for name, (known, steps) in groups.items():
        steps.sort(key=lambda step: step.index)
        if len({step.index for step in steps}) < len(steps):
            raise InputError(f"{path}: task {name} has two rows with one target_action_index; leave one out")
        tasks.append(_task(known, steps, f"{path}: task {name}"))
    return tasks


def _check_object(buffer: Buffer, place: int, where: str) -> None:
    if buffer[place : place + 1] != b"{":
        raise InputError(f"{where} should be an object; take the file as it was released")


def _fields(buffer: Buffer, place: int, where: str, ends: dict[int, int]) -> dict[str, tuple[int, int]]:
    _check_object(buffer, place, where)
    starts = dict(members(buffer, place, ends))
    return {name: (start, ends[start]) for name, start in starts.items() if name != "raw_html"}


def _text(known: dict[str, Any], name: str, where: str) -> str:
    value = known.get(name)
    if not isinstance(value, str) or not value:
        raise InputError(f"{where}: {name} should be a text; take the file as it was released")
    return value


def _step(
    path: Path, buffer: Buffer, parts: dict[str, tuple[int, int]], known: dict[str, Any], index: int, where: str
) -> Step:
    task = _text(known, "annotation_id", where)
    for name in ("action_uid", "operation", *_LAZY):
        if name not in parts:
            raise InputError(f"{where}, action {index}: {name} is missing; take the file as it was released")
    uid = _text({"action_uid": decoded(buffer, *parts["action_uid"])}, "action_uid", f"{where}, action {index}")
    where = f"{where}, action {uid}"
    operation = decoded(buffer, *parts["operation"])
    try:
        operation = loads(operation) if isinstance(operation, str) else operation
        op, value = operation["op"], operation.get("value") or ""
    except (JSONDecodeError, KeyError, TypeError, AttributeError):
        op = value = None
    op = "CLICK" if op in _AS_CLICK else op
    if op not in _OPERATIONS or not isinstance(value, str):
        raise InputError(f"{where}: operation should have an op ({', '.join((*_OPERATIONS, *_AS_CLICK))}) and a value")
    for name in _LAZY:
        mark = b'"' if name == "cleaned_html" else b"["
        if buffer[parts[name][0] : parts[name][0] + 1] != mark:
            raise InputError(f"{where}: {name} should be a {'text' if mark != b'[' else 'list'}")
    page, right, wrong = (_span(path, buffer, *parts[name]) for name in _LAZY)
    return Step(task, uid, index, op, value, page, right, wrong)


def _span(path: Path, buffer: Buffer, start: int, end: int) -> Span:
    return Span(path, start, end, sha256(buffer[start:end]).digest())


def _task(known: dict[str, Any], steps: list[Step], where: str) -> RecordedTask:
    reprs = known.get("action_reprs")
    if not isinstance(reprs, list) or not all(isinstance(line, str) for line in reprs):
        raise InputError(f"{where}: action_reprs should be a list of texts; take the file as it was released")
    if not steps:
        raise InputError(f"{where} has no actions; leave it out")
    if len({step.uid for step in steps}) < len(steps):
        raise InputError(f"{where} has two actions with one action_uid; leave one out")
    if len(reprs) <= steps[-1].index:
        raise InputError(f"{where} has {len(reprs)} action_reprs for action {steps[-1].index}; it needs one an action")
    return RecordedTask(
        _text(known, "annotation_id", where),
        _text(known, "website", where),
        _text(known, "domain", where),
        _text(known, "subdomain", where),
        _text(known, "confirmed_task", where),
        tuple(reprs),
        tuple(steps),
    )
