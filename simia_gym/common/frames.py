"""Tables of pandas, which is imported when one is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from simia_gym.errors import InputError

if TYPE_CHECKING:
    import pandas


def data_frame(rows: Iterable[Mapping[str, Any]], instead: str) -> pandas.DataFrame:
    """A table with a row for each mapping.

    Args:
        rows: The rows.
        instead: What holds the same without pandas, for the error.

    Raises:
        InputError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        fix = f"pip install pandas, or use {instead}."
        raise InputError("pandas is not installed", where="to_pandas", fix=fix) from error
    return pandas.DataFrame([dict(row) for row in rows])
