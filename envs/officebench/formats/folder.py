"""An office as a folder of real files, and back: files, mails and calendars by their paths below the office's folder.

A file whose row is that of its original is the original, byte for byte. The originals lie in two tables that no tool
shows: ``originals``, the hash of a file's bytes by its path, and ``contents``, the bytes in base64 by their hash. A
text needs no original, because its row says all. A third table, ``folders``, has the folders that hold nothing.
"""

from __future__ import annotations

import posixpath
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath

from simia_gym.common.json_encoding import hash_of
from simia_gym.domain.domain import Domain
from simia_gym.envs.officebench.apps.calendar import event_key
from simia_gym.envs.officebench.cells import same
from simia_gym.envs.officebench.formats.document import document_bytes
from simia_gym.envs.officebench.formats.mail import calendar_bytes, mail_bytes
from simia_gym.envs.officebench.formats.pictures import picture
from simia_gym.envs.officebench.formats.printed import page_bytes
from simia_gym.envs.officebench.formats.reading import event_rows, file_row, mail_row
from simia_gym.envs.officebench.formats.workbook import workbook_bytes
from simia_gym.envs.officebench.paths import ANSWER, ROOT
from simia_gym.errors import InputError
from simia_gym.state import Draft, State
from simia_gym.types import JsonObject, Row

_CALENDAR, _MAILS = f"{ROOT}/calendar", f"{ROOT}/emails"
_REMEMBERED = 512


@dataclass
class Office:
    """The rows of an office.

    Attributes:
        files: Files by path.
        mails: Mails by mailbox and id.
        events: Events by key.
        people: Users who have mails or a calendar.
        originals: The hash of each file's bytes, by path.
        contents: The bytes of files, by hash.
    """

    files: dict[str, JsonObject] = field(default_factory=dict)
    mails: dict[str, JsonObject] = field(default_factory=dict)
    events: dict[str, JsonObject] = field(default_factory=dict)
    people: dict[str, JsonObject] = field(default_factory=dict)
    originals: dict[str, JsonObject] = field(default_factory=dict)
    contents: dict[str, JsonObject] = field(default_factory=dict)


def read_office(files: Mapping[str, bytes], names: Mapping[str, str] | None = None, *, strict: bool = True) -> Office:
    """The rows of files.

    Args:
        files: Their bytes, by their paths in the office, such as ``/testbed/data/a.xlsx``.
        names: How errors name them, by path; by default by the path.
        strict: Whether a broken file is an error; else it is one that no app opens.

    Raises:
        InputError: A file is broken, or a library is not installed.
    """
    office = Office()
    for path in sorted(files):
        name = (names or {}).get(path, path)
        try:
            _read(office, path, files[path], name)
        except InputError:
            if strict:
                raise
            office.files[path] = {"kind": "other", "paragraphs": []}
        data = files[path]
        if (
            office.files.get(path, {}).get("kind") != "txt"
            or "\n".join(office.files[path]["paragraphs"]).encode() != data
        ):
            office.originals[path] = {"hash": hash_of(data)}
            office.contents[hash_of(data)] = {"data": b64encode(data).decode()}
    return office


def _read(office: Office, path: str, data: bytes, name: str) -> None:
    """Add the rows of a file."""
    if (user := mailbox_of(path)) is not None:
        row = mail_row(data, name, user)
        office.mails[f"{user}: {row['id']}"] = row
    elif (user := calendar_of(path)) is not None:
        for row in event_rows(data, name, user):
            key, number = event_key(row), 1
            while key in office.events:  # a calendar may hold an event twice
                number += 1
                key = f"{event_key(row)} ({number})"
            office.events[key] = row
    else:
        office.files[path] = file_row(data, name)
        return
    office.people[user] = {"address": address_of(user)}


def mailbox_of(path: str) -> str | None:
    """The user in whose mailbox a mail lies; ``None`` if the file is no mail."""
    if not path.startswith(f"{_MAILS}/") or path.count("/") != 4 or not path.lower().endswith(".eml"):
        return None
    return path.split("/")[3].capitalize()


def calendar_of(path: str) -> str | None:
    """The user whose calendar a file is; ``None`` if it is none."""
    if not path.startswith(f"{_CALENDAR}/") or path.count("/") != 3 or not path.lower().endswith(".ics"):
        return None
    return posixpath.basename(path)[: -len(".ics")].capitalize()


def address_of(user: str) -> str:
    """The mail address of a user."""
    return f"{user.lower()}@example.com"


def written_office(state: State) -> dict[str, bytes]:
    """The files of an office by their paths: the same rows give the same bytes.

    Raises:
        InputError: A library of the extra ``office`` is not installed.
    """
    originals = {path: str(row["hash"]) for path, row in state.rows("originals")}
    spelled = {path.casefold(): path for path in originals}  # a mailbox may be spelled otherwise than its user
    written: dict[str, bytes] = {}

    def original(path: str) -> bytes | None:
        content = state.get("contents", originals.get(path, ""))
        return None if content is None else b64decode(content["data"])

    for path, row in state.rows("files"):
        written[path] = _bytes(row, posixpath.splitext(path)[1].lower(), original(path))
    for _, row in state.rows("mails"):
        path = f"{_MAILS}/{row['user']}/{row['id']}"
        path = spelled.get(path.casefold(), path)
        data = original(path)
        kept = data is not None and same(_mail_of(data, path, row["user"]), row)
        written[path] = data if kept and data is not None else mail_bytes(row)
    calendars = {calendar_of(path) for path in originals if path not in written} - {None}
    for user in sorted({str(user) for user in calendars} | {row["user"] for _, row in state.rows("events")}):
        path = spelled.get(f"{_CALENDAR}/{user}.ics".casefold(), f"{_CALENDAR}/{user}.ics")
        rows = [row for _, row in state.rows("events") if row["user"] == user]
        written[path] = calendar_bytes(user, rows, original(path))
    return {path: written[path] for path in sorted(written)}


def folders_of(state: State) -> list[str]:
    """The folders of an office that hold nothing, and those that are always there."""
    return [f"{ROOT}/data", _MAILS, _CALENDAR, *(path for path, _ in state.rows("folders"))]


def store(db: Draft, before: Mapping[str, bytes], after: Mapping[str, bytes], folders: Collection[str]) -> None:
    """Change the rows of an office so that they are those of its files.

    Args:
        db: The rows.
        before: The files that are written of them.
        after: The files.
        folders: All folders.
    """
    changed = {path: data for path, data in after.items() if before.get(path) != data}
    for path in [path for path in before if path in changed or path not in after]:
        _forget(db, path)
    office = read_office(changed, strict=False)
    for user, row in office.people.items():
        if not db.has("people", user):
            db.put("people", user, row)
    for table in ("files", "mails", "events", "originals", "contents"):
        for key, row in getattr(office, table).items():
            if table != "contents" or not db.has(table, key):
                db.put(table, key, row)
    full = {str(place) for path in (*after, *folders) for place in PurePosixPath(path).parents}
    empty = {path for path in folders if path not in full}
    for path, _ in list(db.rows("folders")):
        if path not in empty:
            db.remove("folders", path)
    for path in sorted(empty.difference(folders_of(db.state))):
        db.put("folders", path, {})


def _forget(db: Draft, path: str) -> None:
    """Remove the rows of a file."""
    if db.has("originals", path):
        db.remove("originals", path)
    if db.has("files", path):
        db.remove("files", path)
    elif (user := mailbox_of(path)) is not None:
        db.remove("mails", f"{user}: {posixpath.basename(path)}")
    else:
        user = calendar_of(path)
        for key in [key for key, row in db.rows("events") if row["user"] == user]:
            db.remove("events", key)


def _bytes(row: Row, end: str, original: bytes | None) -> bytes:
    """The bytes of a file: its original if that has this row, else written anew into it."""
    kind = row["kind"]
    if original is not None and (kind == "other" or same(_row_of(original, end), row)):
        return original
    if kind == "xlsx":
        return workbook_bytes(row["cells"], original)
    if kind == "docx":
        return document_bytes(row["paragraphs"], original)
    if kind == "pdf":
        return page_bytes(row["paragraphs"])
    text = "\n".join(row["paragraphs"])
    return picture(text, end) if kind == "image" else text.encode()


@lru_cache(_REMEMBERED)
def _mail_of(data: bytes, path: str, user: str) -> JsonObject:
    return mail_row(data, path, user)


@lru_cache(_REMEMBERED)
def _row_of(data: bytes, end: str) -> JsonObject | None:
    try:
        return file_row(data, f"original{end}")
    except InputError:
        return None


def export(domain: Domain, state: State) -> dict[str, bytes]:
    """The end of an episode as files, for `simia export`: the office, and the answer as the benchmark keeps it."""
    files = {path.removeprefix(f"{ROOT}/"): data for path, data in written_office(state).items()}
    answer = state.at("/desk/main/answer")
    return files if answer is None else {**files, ANSWER.removeprefix(f"{ROOT}/"): str(answer).encode()}
