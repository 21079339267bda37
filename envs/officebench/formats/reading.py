"""Reads a file by the end of its name: a workbook, a document, a printed page, a text, a mail, a calendar."""

from __future__ import annotations

import importlib
import io
import logging
import posixpath
import re
from collections.abc import Callable
from datetime import date, datetime, time
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from typing import Any

from simia_gym.envs.officebench.cells import name_of
from simia_gym.envs.officebench.formats.pictures import picture_text
from simia_gym.envs.officebench.paths import KINDS
from simia_gym.errors import InputError
from simia_gym.types import JsonObject

EXTRA = "pip install 'simia-gym[office]'"
PAGE_TEXT = "/SimiaText"
"""The entry of a printed page's information in which its text lies as it was written."""
_OWN_ADDRESS = re.compile(r"([\w.-]+) <([\w.-]+)@example\.com>")


def library(name: str, package: str) -> Any:
    """A library of the extra ``office``.

    Raises:
        InputError: It is not installed; says how to install it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(f"real office files need the package {package}", fix=EXTRA) from error


def file_row(data: bytes, name: str) -> JsonObject:
    """The row of a file. One that no app opens is a text if it can be one, else of the kind ``other``.

    Args:
        data: Its bytes.
        name: Its path, for the end of the name and for errors.

    Raises:
        InputError: The file is broken, or its library is not installed.
    """
    kind = KINDS.get(posixpath.splitext(name)[1].lower(), "")
    reader = _READERS.get(kind, _unknown)
    row: JsonObject = _tried(name, lambda: reader(data))
    return row


def _tried(name: str, read: Callable[[], Any]) -> Any:
    """What a reader gives; what its library raises becomes an error that names the file."""
    try:
        return read()
    except InputError:
        raise
    except Exception as error:  # the libraries raise anything at broken files
        end = posixpath.splitext(name)[1].lower()
        what = f"is no {end} file that can be read ({type(error).__name__}: {error})"
        raise InputError(what, where=name, fix="Give the original file again.") from error


def _workbook(data: bytes) -> JsonObject:
    openpyxl = library("openpyxl", "openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(data))
    try:
        # Row by row, a single cell far below would cost a minute.
        filled = sorted((place, cell) for place, cell in book.active._cells.items() if cell.value is not None)
        cells = {name_of(*place): value_of(cell) for place, cell in filled}
    finally:
        book.close()
    return {"kind": "xlsx", "cells": cells}


def value_of(cell: Any) -> Any:
    """The value of a cell of a workbook as the state holds it."""
    value = cell.value
    if cell.data_type == "f":
        return {"formula": value if isinstance(value, str) else str(value.text)}
    if isinstance(value, datetime | date):
        return {"date": str(value)}
    if isinstance(value, time):
        return {"time": str(value)}
    return value if isinstance(value, str | int | float) else str(value)


def _document(data: bytes) -> JsonObject:
    docx = library("docx", "python-docx")
    return {"kind": "docx", "paragraphs": [paragraph.text for paragraph in docx.Document(io.BytesIO(data)).paragraphs]}


def _pages(data: bytes) -> JsonObject:
    pypdf = library("pypdf", "pypdf")
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    reader = pypdf.PdfReader(io.BytesIO(data))
    text = (reader.metadata or {}).get(PAGE_TEXT)
    if text is None:
        text = "".join(page.extract_text() for page in reader.pages)
    return {"kind": "pdf", "paragraphs": str(text).split("\n")}


def _text(data: bytes) -> JsonObject:
    return {"kind": "txt", "paragraphs": data.decode("utf-8", "replace").split("\n")}


def _picture(data: bytes) -> JsonObject:
    text = picture_text(data)
    return {"kind": "image", "paragraphs": [] if text is None else text.split("\n")}


def _unknown(data: bytes) -> JsonObject:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"kind": "other", "paragraphs": []}
    return {"kind": "other", "paragraphs": []} if "\0" in text else {"kind": "txt", "paragraphs": text.split("\n")}


_READERS: dict[str, Callable[[bytes], JsonObject]] = {
    "xlsx": _workbook,
    "docx": _document,
    "pdf": _pages,
    "txt": _text,
    "image": _picture,
}


def mail_row(data: bytes, name: str, user: str) -> JsonObject:
    """The row of a mail that lies in a user's mailbox.

    Raises:
        InputError: The file is broken.
    """

    def read() -> JsonObject:
        mail: EmailMessage = BytesParser(policy=policy.default).parse(io.BytesIO(data))
        body = mail.get_body(("plain", "html"))
        content = "" if body is None else str(body.get_content())
        heads = {head: str(mail[head] or "") for head in ("from", "to", "subject")}
        for head in ("from", "to"):
            found = _OWN_ADDRESS.fullmatch(heads[head])
            if found and found[1].lower() == found[2].lower():
                heads[head] = found[1]  # a user of the office, as `simia_gym.envs.officebench.formats.mail` writes them
        return {"user": user, "id": posixpath.basename(name), **heads, "content": content}

    row: JsonObject = _tried(name, read)
    return row


def event_rows(data: bytes, name: str, user: str) -> list[JsonObject]:
    """The rows of the events in a calendar, in their order, with the times of their own zones.

    Raises:
        InputError: The file is broken, or a library is not installed.
    """
    icalendar = library("icalendar", "icalendar")

    def read() -> list[JsonObject]:
        return [_event(event, user) for event in icalendar.Calendar.from_ical(data).walk("VEVENT")]

    rows: list[JsonObject] = _tried(name, read)
    return rows


def _event(event: Any, user: str) -> JsonObject:
    start = event["dtstart"].dt
    end = event["dtend"].dt if "dtend" in event else start
    texts = {name: str(event.get(name) or "") for name in ("summary", "description", "location")}
    return {"user": user, **texts, "start": _moment(start), "end": _moment(end)}


def _moment(value: date | datetime) -> str:
    return f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else f"{value:%Y-%m-%d} 00:00:00"
