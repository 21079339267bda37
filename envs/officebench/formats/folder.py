"""An office as a folder of real files, and back: files, mails and calendars by their paths below the office's folder.

A file whose row is that of its original is the original, byte for byte. The originals lie in two tables that no tool
shows: ``originals``, the hash of a file's bytes by its path, and ``contents``, the bytes in base64 by their hash.
"""

from __future__ import annotations

import posixpath
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

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
from simia_gym.state import State
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


def read_office(files: Mapping[str, bytes], names: Mapping[str, str] | None = None) -> Office:
    """The rows of files.

    Args:
        files: Their bytes, by their paths in the office, such as ``/testbed/data/a.xlsx``.
        names: How errors name them, by path; by default by the path.

    Raises:
        InputError: A file is broken, or a library is not installed.
    """
    office = Office()
    for path in sorted(files):
        data, name = files[path], (names or {}).get(path, path)
        office.originals[path] = {"hash": hash_of(data)}
        office.contents[hash_of(data)] = {"data": b64encode(data).decode()}
        end = posixpath.splitext(path)[1].lower()
        if end == ".eml" and path.startswith(f"{_MAILS}/") and path.count("/") > 3:
            user = path.split("/")[3].capitalize()
            row = mail_row(data, name, user)
            office.mails[f"{user}: {row['id']}"] = row
        elif end == ".ics" and path.startswith(f"{_CALENDAR}/"):
            user = posixpath.basename(path)[: -len(end)].capitalize()
            for row in event_rows(data, name, user):
                key, number = event_key(row), 1
                while key in office.events:  # a calendar may hold an event twice
                    number += 1
                    key = f"{event_key(row)} ({number})"
                office.events[key] = row
        else:
            office.files[path] = file_row(data, name)
            continue
        office.people[user] = {"address": address_of(user)}
    return office


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
        kept = data is not None and same(mail_row(data, path, row["user"]), row)
        written[path] = data if kept and data is not None else mail_bytes(row)
    calendars = {path for path in originals if path.startswith(f"{_CALENDAR}/") and path.lower().endswith(".ics")}
    users = {row["user"] for _, row in state.rows("events")}
    users |= {posixpath.basename(path)[:-4].capitalize() for path in calendars}
    for user in sorted(users):
        path = spelled.get(f"{_CALENDAR}/{user}.ics".casefold(), f"{_CALENDAR}/{user}.ics")
        rows = [row for _, row in state.rows("events") if row["user"] == user]
        written[path] = calendar_bytes(user, rows, original(path))
    return {path: written[path] for path in sorted(written)}


def _bytes(row: Row, end: str, original: bytes | None) -> bytes:
    """The bytes of a file: its original if that has this row, else written anew into it."""
    if original is not None and same(_row_of(original, end), row):
        return original
    kind = row["kind"]
    if kind == "xlsx":
        return workbook_bytes(row["cells"], original)
    if kind == "docx":
        return document_bytes(row["paragraphs"], original)
    if kind == "pdf":
        return page_bytes(row["paragraphs"])
    text = "\n".join(row["paragraphs"])
    return picture(text, end) if kind == "image" else text.encode()


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
