"""Writes mails, and calendars with their events put into the original."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from email.header import Header
from typing import Any

from simia_gym.envs.officebench.formats.reading import event_rows
from simia_gym.types import Row

_USER = re.compile(r"[\w.-]+", re.ASCII)
_PLAIN = re.compile(r"(?!=\?)[!-~](?:[ -~]*[!-~])?")
_EVENT = re.compile(rb"BEGIN:VEVENT\s.*?END:VEVENT[^\n]*(?:\n|\Z)", re.DOTALL)
CALENDAR = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//simia_gym//officebench//EN\r\nEND:VCALENDAR\r\n"
"""A calendar that holds nothing."""
_END = b"END:VCALENDAR"
_STAMP = "20000101T000000Z"
_LONGEST = 74
_ESCAPES = str.maketrans({"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n"})


def mail_bytes(row: Row) -> bytes:
    """A mail of plain text."""
    heads = {
        "From": _address(row["from"]),
        "To": _address(row["to"]),
        "Subject": _header(row["subject"]),
        "MIME-Version": "1.0",
        "Content-Type": 'text/plain; charset="utf-8"',
        "Content-Transfer-Encoding": "8bit",
    }
    lines = "".join(f"{name}: {text}\n" for name, text in heads.items())
    return f"{lines}\n{row['content']}".encode()


def _address(user: str) -> str:
    return f"{user} <{user.lower()}@example.com>" if _USER.fullmatch(user) else _header(user)


def _header(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and "=?" not in text else Header(text, "utf-8", maxlinelen=75).encode()


def calendar_bytes(user: str, rows: Sequence[Row], original: bytes | None) -> bytes:
    """A calendar with these events; those that the original has stay as they are in it."""
    data, wanted = CALENDAR if original is None else original, [dict(row) for row in rows]
    there = event_rows(data, f"{user}.ics", user)
    places = list(_EVENT.finditer(data))
    if len(there) != len(places):  # the library sees other events than we do
        data, there, places = CALENDAR, [], []
    gone = []
    for row, place in zip(there, places, strict=True):
        if row in wanted:
            wanted.remove(row)
        else:
            gone.append(place)
    for place in reversed(gone):
        data = data[: place.start()] + data[place.end() :]
    head, end, tail = data.rpartition(_END)
    line_end = b"\r\n" if b"\r\n" in data else b"\n"
    if head and not head.endswith(b"\n"):
        head += line_end
    added = sorted(wanted, key=lambda row: (row["start"], row["summary"]))
    return head + b"".join(_event(row).replace(b"\r\n", line_end) for row in added) + end + tail


def _event(row: Mapping[str, Any]) -> bytes:
    told = "\0".join(str(row[name]) for name in sorted(row))
    lines = ["BEGIN:VEVENT", f"UID:{hashlib.sha256(told.encode()).hexdigest()[:32]}@example.com", f"DTSTAMP:{_STAMP}"]
    lines += [f"DT{name.upper()}:{re.sub('[-:]', '', row[name]).replace(' ', 'T')}" for name in ("start", "end")]
    texts = {name: row[name] for name in ("summary", "description", "location") if row[name]}
    lines += [f"{name.upper()}:{text.translate(_ESCAPES)}" for name, text in texts.items()]
    return b"".join(_folded(line) for line in [*lines, "END:VEVENT"])


def _folded(line: str) -> bytes:
    """A line in pieces of at most 75 bytes, which never part a character."""
    pieces, piece = list[str](), ""
    for character in line:
        if len((piece + character).encode()) > _LONGEST:
            pieces.append(piece)
            piece = ""
        piece += character
    return "\r\n ".join([*pieces, piece]).encode() + b"\r\n"
