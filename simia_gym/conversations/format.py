"""What a format of conversations is, and the part that formats with one conversation a line share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from simia_gym.common.json_encoding import encode
from simia_gym.common.writing import write_parts
from simia_gym.conversations.carried import COLUMN, carried, restored
from simia_gym.conversations.conversation import Conversation, Unreadable
from simia_gym.conversations.rows import read_rows
from simia_gym.errors import InputError
from simia_gym.types import JsonObject


class Format(Protocol):
    """A format of files with conversations.

    Attributes:
        name: Its name, as ``--format`` takes it.
        writes: Whether it can be written.
    """

    name: str
    writes: bool

    def fits(self, row: Any) -> bool:
        """Whether a row of a file is certainly in this format and in no other."""
        ...

    def read(self, path: Path) -> Iterator[Conversation | Unreadable]:
        """Read a file; what cannot be read is an `Unreadable` in its place.

        Raises:
            InputError: The file cannot be read at all.
        """
        ...

    def write(self, path: Path, conversations: Iterable[Conversation]) -> int:
        """Write a file as a whole, and return how many conversations it holds.

        Raises:
            InputError: The format cannot be written, or cannot hold one of them.
            StorageError: The file cannot be written; an earlier version stays.
        """
        ...


class RowFormat:
    """A format with one JSON object for each conversation.

    A subclass says what the object means: `decode` and `encode`. What `encode` loses is found by `decode` and travels
    in the column `simia_gym.conversations.carried.COLUMN`.
    """

    name: str
    writes = True
    body: tuple[str, ...]
    """The columns that hold the conversation itself."""

    def decode(self, row: JsonObject) -> Conversation:
        """The conversation of a row.

        Raises:
            InputError: It is none; says why.
        """
        raise NotImplementedError

    def encode(self, conversation: Conversation) -> JsonObject:
        """The row of a conversation; what it cannot hold may be left out.

        Raises:
            InputError: It cannot be a row at all.
        """
        raise NotImplementedError

    def read(self, path: Path) -> Iterator[Conversation | Unreadable]:
        """Read a file, see `Format.read`."""
        name = path.name
        for where, row in read_rows(path):
            if not isinstance(row, dict):
                yield row if isinstance(row, Unreadable) else Unreadable(where, "is no JSON object")
                continue
            try:
                found = self._decoded(row)
            except InputError as error:
                yield Unreadable(where, error.what)
                continue
            source = found.source or f"{name}:{where.rpartition(':')[2]}"
            yield replace(found, where=where, source=source)

    def write(self, path: Path, conversations: Iterable[Conversation]) -> int:
        """Write a file with one row a line, see `Format.write`."""
        number = 0

        def lines() -> Iterator[bytes]:
            nonlocal number
            for conversation in conversations:
                yield encode(self.row(conversation)) + b"\n"
                number += 1

        write_parts(path, lines())
        return number

    def row(self, conversation: Conversation) -> JsonObject:
        """The row of a conversation, with what the format itself cannot hold."""
        row = self.encode(conversation)
        lost = carried(conversation, self.decode(row), self._body(row))
        return row if lost is None else self.with_column(row, lost)

    def with_column(self, row: JsonObject, text: str) -> JsonObject:
        """The row with a text in its column for what is lost."""
        return {**row, COLUMN: text}

    def column(self, row: JsonObject) -> Any:
        """What stands in the row's column for what is lost."""
        return row.get(COLUMN)

    def _decoded(self, row: JsonObject) -> Conversation:
        column = self.column(row)
        found = self.decode(row)
        return found if column is None else restored(found, column, self._body(row))

    def _body(self, row: JsonObject) -> list[Any]:
        return [row.get(name) for name in self.body]
