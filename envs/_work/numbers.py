"""The numbers of generated tasks."""

from __future__ import annotations

from simia_gym.errors import InputError

_MOST = 1_000_000


def check_number(index: int) -> None:
    """Refuse a number of a generated task that is out of range.

    Raises:
        InputError: It is.
    """
    if not 0 <= index < _MOST:
        raise InputError(f"index {index} is out of range", where="generate", fix=f"Use 0 to {_MOST - 1}.")
