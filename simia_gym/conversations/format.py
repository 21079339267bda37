"""What a format of conversations is, and the part that formats with one conversation a line share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from simia_gym.common.json_encoding import encode
from simia_gym.common.writing import write_parts
from simia_gym.conversations.carried import COLUMN, carried, lost_by, restored
from simia_gym.conversations.conversation import Conversation, Unreadable
from simia_gym.conversations.rows import read_rows
from simia_gym.errors import InputError
from simia_gym.types import JsonObject

T = TypeVar("T")
_NOTHING = Conversation(messages=())


class Format(Protocol):
    """A format of files with conversations.

    Attributes:
        name: Its name, as ``--format`` takes it.
        writes: Whether it can be written.
    """

    name: str
    writes: bool

    def fits(self, row: Any) -> bool | None:
        """Whether a row of a file is in this format and in no other; ``None`` if nothing in it says so."""
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


class RowFormat(ABC):
    """A format with one JSON object for each conversation.

    A subclass says what the object means: `decode` and `encode`. What `encode` loses is found by `decode` and travels
    in the column `simia_gym.conversations.carried.COLUMN`.
    """

    name: str
    writes = True
    body: tuple[str, ...]
    """The columns that hold the conversation itself."""

    @abstractmethod
    def decode(self, row: JsonObject) -> Conversation:
        """The conversation of a row.

        Raises:
            InputError: It is none; says why.
        """

    def encode(self, conversation: Conversation) -> JsonObject:
        """The row of a conversation; what it cannot hold may be left out. A format that is only read has none.

        Raises:
            InputError: It cannot be a row at all.
        """
        raise InputError(f"the format {self.name} is only read", where=conversation.where)

    def read(self, path: Path) -> Iterator[Conversation | Unreadable]:
        """Read a file, see `Format.read`."""
        for place, value in read_rows(path):
            for where, row in [(place, value)] if isinstance(value, Unreadable) else self.parts(place, value):
                yield self._read(path, where, row)

    def parts(self, where: str, row: Any) -> Iterable[tuple[str, Any]]:
        """The conversations of a row with their places; one, unless a subclass says otherwise."""
        return [(where, row)]

    def _read(self, path: Path, where: str, row: Any) -> Conversation | Unreadable:
        if not isinstance(row, dict):
            return row if isinstance(row, Unreadable) else Unreadable(where, "is no JSON object")
        try:
            found = self._decoded(row)
        except InputError as error:
            return Unreadable(where, error.what)
        source = found.source or f"{path.name}{where.removeprefix(str(path))}"
        return replace(found, where=where, source=source)

    def write(self, path: Path, conversations: Iterable[Conversation]) -> int:
        """Write a file with one row a line, see `Format.write`."""
        number = 0

        def lines() -> Iterator[bytes]:
            nonlocal number
            for line in self.rows(conversations, lambda row: encode(row) + b"\n"):
                yield line
                number += 1

        write_parts(path, lines())
        return number

    def rows(self, conversations: Iterable[Conversation], made: Callable[[JsonObject], T]) -> Iterator[T]:
        """What is made of the row of each conversation.

        Raises:
            InputError: The format cannot hold one of them; says where that stands.
        """
        for conversation in conversations:
            try:
                yield made(self.row(conversation))
            except InputError as error:
                where = conversation.where or conversation.source or f"conversation {conversation.id}"
                raise InputError(f"cannot be written as {self.name}: {error.what}", where=where) from error

    def row(self, conversation: Conversation) -> JsonObject:
        """The row of a conversation, with what the format itself cannot hold."""
        row = self.encode(conversation)
        try:
            read = self.decode(row)
        except InputError:  # a text looks like a part of the format
            read = _NOTHING
        lost = carried(conversation, read, self._body(row))
        return row if lost is None else self.with_column(row, lost)

    def with_column(self, row: JsonObject, text: str) -> JsonObject:
        """The row with a text in its column for what is lost."""
        return {**row, COLUMN: text}

    def column(self, row: JsonObject) -> Any:
        """What stands in the row's column for what is lost."""
        return row.get(COLUMN)

    def _decoded(self, row: JsonObject) -> Conversation:
        column = self.column(row)
        lost = None if column is None else lost_by(column, self._body(row))
        try:
            found = self.decode(row)
        except InputError:
            if lost is None:
                raise
            found = _NOTHING
        return found if lost is None else restored(found, lost)

    def _body(self, row: JsonObject) -> list[Any]:
        return [row.get(name) for name in self.body]
