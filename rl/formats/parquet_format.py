"""Formats in Parquet, with columns whose types are told and not guessed.

Arrow gives every object of a column the keys of all others, as nulls, and takes texts for dates where all look like
some. So a column here holds texts, numbers, messages of texts alone, or JSON that Arrow keeps as text.
"""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from simia_gym.common.json_encoding import encode
from simia_gym.common.writing import write_parts
from simia_gym.conversations.carried import COLUMN
from simia_gym.conversations.conversation import FACTS, Conversation, facts_in
from simia_gym.conversations.format import RowFormat
from simia_gym.conversations.parquet import NAME, ROWS, load_pyarrow
from simia_gym.errors import InputError
from simia_gym.types import JsonObject

ENDING = ".parquet"
_TYPES = {"seed": "int64", "reward": "float64", "valid": "bool_", "success": "bool_"}
_INT64 = range(-(2**63), 2**63)


class ParquetFormat(RowFormat):
    """A format whose files are read by what `RowFormat` says of their rows."""

    @abstractmethod
    def columns(self, pyarrow: Any) -> JsonObject:
        """The columns that hold a conversation itself, with their types."""

    @abstractmethod
    def stored(self, row: JsonObject) -> JsonObject:
        """A row as it stands in these columns."""

    def fits(self, row: Any) -> bool | None:
        """No row says so; the file does, see `simia_gym.conversations.parquet.written_as`."""
        return False

    def facts(self, conversation: Conversation) -> JsonObject:
        """The columns about a conversation; what has no column of its own travels with what is lost."""
        found = facts_in(conversation)
        if found.get("seed", 0) not in _INT64:
            del found["seed"]
        if "verdict" in found:
            found["verdict"] = encode(found["verdict"]).decode()
        return found

    def write(self, path: Path, conversations: Iterable[Conversation]) -> int:
        """Write a file, see `simia_gym.conversations.format.Format.write`."""
        if path.suffix != ENDING:
            fix = f"Give it a name that ends in {ENDING}."
            raise InputError(f"the format {self.name} is a Parquet file", where=str(path), fix=fix)
        pyarrow = load_pyarrow(str(path))
        about = {name: getattr(pyarrow, _TYPES.get(name, "string"))() for name in (*FACTS, COLUMN)}
        schema = pyarrow.schema([*{**self.columns(pyarrow), **about}.items()], metadata={NAME: self.name})
        number = 0

        def rows() -> Iterator[JsonObject]:
            nonlocal number
            for row in self.rows(conversations, self.stored):
                yield row
                number += 1

        write_parts(path, _written(rows(), schema, pyarrow))
        return number


class _Sink(io.RawIOBase):
    """Takes what is written, and gives it away in parts."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(self._parts[-1])

    def taken(self) -> bytes:
        """What was written since the last time."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _written(rows: Iterator[JsonObject], schema: Any, pyarrow: Any) -> Iterator[bytes]:
    sink = _Sink()
    with pyarrow.parquet.ParquetWriter(sink, schema) as writer:
        while some := [*islice(rows, ROWS)]:
            arrays = [_array([row.get(field.name) for row in some], field.type, pyarrow) for field in schema]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
            yield sink.taken()
    yield sink.taken()


def _array(values: list[Any], kind: Any, pyarrow: Any) -> Any:
    """An array; pyarrow makes none of lists of JSON by itself."""
    if not isinstance(getattr(kind, "value_type", None), pyarrow.JsonType):
        return pyarrow.array(values, kind)
    texts = pyarrow.array(values, pyarrow.list_(pyarrow.string()))
    inner = pyarrow.ExtensionArray.from_storage(kind.value_type, texts.values)
    return pyarrow.ListArray.from_arrays(texts.offsets, inner, type=kind)
