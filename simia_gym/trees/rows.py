"""An entry of a file tree as a row of JSON, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from simia_gym.common.json_encoding import as_bytes, as_text
from simia_gym.sandbox import Entry


def path_text(path: str) -> str:
    """A path, or another text of the file system, as a text of JSON; bytes that are not UTF-8 in base64."""
    return path if path.isascii() and path.startswith("/") else as_text(os.fsencode(path))


def text_path(text: str) -> str:
    """The path that `path_text` wrote."""
    return text if text.isascii() and text.startswith("/") else os.fsdecode(as_bytes(text))


def row_of(entry: Entry) -> dict[str, Any]:
    """The row of an entry, without its time.

    Returns:
        ``kind``; ``mode`` in octal digits, but not for a link; ``text`` of a file (bytes that are not UTF-8 in
        base64, see `as_text`); ``target`` of a link.
    """
    row: dict[str, Any] = {"kind": entry.kind}
    if entry.kind == "link":
        return {**row, "target": path_text(entry.target)}
    row["mode"] = f"{entry.mode:04o}"
    if entry.kind == "file":
        row["text"] = as_text(entry.data)
    return row


def entry_of(row: Mapping[str, Any], time: int) -> Entry:
    """The entry of a row.

    Args:
        row: The row, as `row_of` makes it.
        time: When it was written, in whole seconds since 1970.

    Raises:
        ValueError: The text claims to be base64 and is not, or the mode is no number.
    """
    if row["kind"] == "link":
        return Entry("link", target=text_path(row["target"]), time=time)
    data = as_bytes(row["text"]) if row["kind"] == "file" else b""
    return Entry(row["kind"], int(row["mode"], 8), data, time=time)


def size_of(row: Mapping[str, Any]) -> int:
    """The bytes of a file's row; 0 of anything else."""
    text = row.get("text", "")
    return len(text) if text.isascii() and ":" not in text[:7] else len(as_bytes(text))
