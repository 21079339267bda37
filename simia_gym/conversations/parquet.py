"""Rows of Parquet files, which say the name of their format if this package wrote them.

A column of Arrow has one type: an object in it has the keys of all others, too, as nulls. Those of messages and schemas
say nothing; those of the arguments of a call might, so that such a file is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simia_gym.common.json_encoding import decode_fast
from simia_gym.errors import InputError
from simia_gym.types import JsonObject

NAME = b"simia.format"
"""The key under which a file says its format."""
ROWS = 1000
"""Number of rows that are read or written at a time."""
_MAGIC = b"PAR1"
_ARGUMENTS, _SCHEMAS = ("arguments", "parameters"), ("tools", "functions")


def parquet_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """The rows of a Parquet file: each with the file and its number, from 1, and without what is null.

    Raises:
        InputError: It is no whole Parquet file, its calls hold objects of Arrow, or pyarrow is not installed.
    """
    pyarrow = load_pyarrow(str(path))
    schema = _schema(path, pyarrow)
    if any(_holds_arguments(field.type, pyarrow, field.name) for field in schema):
        what = "the arguments of its calls are objects, which Arrow fills with nulls"
        fix = "Write them as JSON texts, as OpenAI does, or the file as JSON lines."
        raise InputError(what, where=str(path), fix=fix)
    for where, row in rows_with_nulls(path):
        yield where, {name: _cleaned(name, value) for name, value in row.items() if value is not None}


def rows_with_nulls(path: Path) -> Iterator[tuple[str, JsonObject]]:
    """The rows of a Parquet file as Arrow has them: each with the file and its number, from 1; JSON is decoded.

    Raises:
        InputError: It is no whole Parquet file, or pyarrow is not installed.
    """
    pyarrow, number = load_pyarrow(str(path)), 0
    try:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=ROWS):
            columns = [_values(column, pyarrow) for column in batch.columns]
            for row in zip(*columns, strict=True):
                number += 1
                yield f"{path}:{number}", dict(zip(batch.schema.names, row, strict=True))
    except (pyarrow.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


def written_as(path: Path) -> str | None:
    """The name of the format that a Parquet file says it has; ``None`` if it says none, or is another kind of file.

    Raises:
        InputError: It is no whole Parquet file, or pyarrow is not installed.
    """
    if not is_parquet(path):
        return None
    pyarrow = load_pyarrow(str(path))
    try:
        said = (pyarrow.parquet.read_schema(path).metadata or {}).get(NAME)
    except (pyarrow.ArrowException, OSError):
        return None  # reading its rows says what is wrong
    return None if said is None else str(said.decode())


def is_parquet(path: Path) -> bool:
    """Whether a file begins as a Parquet file does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def load_pyarrow(where: str) -> Any:
    """The module ``pyarrow``.

    Raises:
        InputError: It is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        fix = 'Install it: pip install pyarrow. "simia-gym[trl]" has it.'
        raise InputError("a Parquet file needs pyarrow, which is not installed", where=where, fix=fix) from None
    return pyarrow


def keeps_json(path: Path, column: str) -> bool:
    """Whether a column is a list of JSON, so that nothing in it was filled with nulls.

    Raises:
        InputError: It is no whole Parquet file, or pyarrow is not installed.
    """
    pyarrow = load_pyarrow(str(path))
    schema = _schema(path, pyarrow)
    return column in schema.names and isinstance(
        getattr(schema.field(column).type, "value_type", None), pyarrow.JsonType
    )


def _schema(path: Path, pyarrow: Any) -> Any:
    try:
        return pyarrow.parquet.read_schema(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> InputError:
    what = f"is no Parquet file that can be read: {str(error).splitlines()[0]}"
    return InputError(what, where=str(path), fix="Write it again.")


def _holds_arguments(kind: Any, pyarrow: Any, name: str = "") -> bool:
    """Whether a type has arguments of calls that are objects."""
    if pyarrow.types.is_struct(kind):
        return name in _ARGUMENTS or any(_holds_arguments(field.type, pyarrow, field.name) for field in kind)
    listed = pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind)
    return listed and name not in _SCHEMAS and _holds_arguments(kind.value_type, pyarrow)


def _cleaned(name: str, value: Any) -> Any:
    """A value without the nulls that Arrow puts into schemas of tools."""
    return _without_nulls(value) if name in _SCHEMAS else value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _values(column: Any, pyarrow: Any) -> list[Any]:
    """The values of a column; what Arrow keeps as JSON is decoded."""
    values: list[Any] = column.to_pylist()
    if isinstance(column.type, pyarrow.JsonType):
        return [None if value is None else decode_fast(value) for value in values]
    if isinstance(getattr(column.type, "value_type", None), pyarrow.JsonType):
        return [None if each is None else [decode_fast(value) for value in each] for each in values]
    return values
