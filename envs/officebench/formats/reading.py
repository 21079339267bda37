"""Reads a file by the end of its name: a workbook, a document, a printed page, a text, a mail, a calendar."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path
from typing import Any

from simia_gym.envs.officebench.cells import name_of
from simia_gym.errors import InputError
from simia_gym.types import JsonObject

EXTRA = "pip install 'simia-gym[office]'"


def library(name: str, package: str) -> Any:
    """A library of the extra ``office``.

    Raises:
        InputError: It is not installed; says how to install it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(f"real office files need the package {package}", fix=EXTRA) from error


def file_row(path: Path) -> JsonObject | None:
    """The row of a file; ``None`` if it is of a kind that no app opens.

    Raises:
        InputError: The file is broken, or its library is not installed.
    """
    reader = _READERS.get(path.suffix.lower())
    return None if reader is None else _tried(path, lambda: reader(path))


def _tried(path: Path, read: Callable[[], Any]) -> Any:
    """What a reader gives; what its library raises becomes an error that names the file."""
    try:
        return read()
    except InputError:
        raise
    except Exception as error:  # the libraries raise anything at broken files
        what = f"is no {path.suffix.lower()} file that can be read ({type(error).__name__}: {error})"
        raise InputError(what, where=str(path), fix="Give the original file again.") from error


def _workbook(path: Path) -> JsonObject:
    openpyxl = library("openpyxl", "openpyxl")
    book = openpyxl.load_workbook(path)
    try:
        cells = {
            name_of(cell.row, cell.column): value_of(cell)
            for row in book.active.iter_rows()
            for cell in row
            if cell.value is not None
        }
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


def _document(path: Path) -> JsonObject:
    docx = library("docx", "python-docx")
    return {"kind": "docx", "paragraphs": [paragraph.text for paragraph in docx.Document(str(path)).paragraphs]}


def _pages(path: Path) -> JsonObject:
    pypdf = library("pypdf", "pypdf")
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    with path.open("rb") as file:
        text = "".join(page.extract_text() for page in pypdf.PdfReader(file).pages)
    return {"kind": "pdf", "paragraphs": text.split("\n")}


def _text(path: Path) -> JsonObject:
    return {"kind": "txt", "paragraphs": path.read_bytes().decode("utf-8", "replace").split("\n")}


def _picture(path: Path) -> JsonObject:
    return {"kind": "image", "paragraphs": []}


_READERS: dict[str, Callable[[Path], JsonObject]] = {
    ".xlsx": _workbook,
    ".docx": _document,
    ".pdf": _pages,
    ".txt": _text,
    ".png": _picture,
    ".jpg": _picture,
}


def mail_row(path: Path, user: str) -> JsonObject:
    """The row of a mail that lies in a user's mailbox.

    Raises:
        InputError: The file is broken.
    """

    def read() -> JsonObject:
        with path.open("rb") as file:
            mail: EmailMessage = BytesParser(policy=policy.default).parse(file)
        body = mail.get_body(("plain", "html"))
        content = "" if body is None else str(body.get_content())
        heads = {name: str(mail[name] or "") for name in ("from", "to", "subject")}
        return {"user": user, "id": path.name, **heads, "content": content}

    row: JsonObject = _tried(path, read)
    return row


def event_rows(path: Path, user: str) -> Iterator[JsonObject]:
    """The rows of the events in a calendar, with the times of their own zones.

    Raises:
        InputError: The file is broken, or a library is not installed.
    """
    icalendar = library("icalendar", "icalendar")
    calendar = _tried(path, lambda: icalendar.Calendar.from_ical(path.read_bytes()))
    yield from _tried(path, lambda: [_event(event, user) for event in calendar.walk("VEVENT")])


def _event(event: Any, user: str) -> JsonObject:
    start = event["dtstart"].dt
    end = event["dtend"].dt if "dtend" in event else start
    texts = {name: str(event.get(name) or "") for name in ("summary", "description", "location")}
    return {"user": user, **texts, "start": _moment(start), "end": _moment(end)}


def _moment(value: date | datetime) -> str:
    return f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else f"{value:%Y-%m-%d} 00:00:00"
