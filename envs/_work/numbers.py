"""The numbers and seeds of tasks that ship with a domain, and of generated ones."""

from __future__ import annotations

from collections.abc import Callable

from simia_gym.errors import InputError
from simia_gym.types import Split, Task

Maker = Callable[[str, Split, int, str], Task]
"""Makes a task from its id, its split, its number and the seed of what is drawn."""
_MOST = 1_000_000


def check_number(index: int) -> None:
    """Refuse a number of a generated task that is out of range.

    Raises:
        InputError: It is.
    """
    if not 0 <= index < _MOST:
        raise InputError(f"index {index} is out of range", where="generate", fix=f"Use 0 to {_MOST - 1}.")


def generated_task(make: Maker, name: str, split: Split, index: int, seed: str = "") -> Task:
    """Generate a task; the same arguments give the same task.

    Args:
        make: Makes it.
        name: The domain, with which its id begins.
        split: Its split.
        index: Its number.
        seed: The word with which seeds begin, where it is not the name.

    Raises:
        InputError: The index is out of range.
    """
    check_number(index)
    return make(f"{name}-{split}-g{index:06d}", split, index, f"{seed or name} {split} {index}")


def shipped_tasks(make: Maker, name: str, split: Split, count: int, seed: str = "") -> list[Task]:
    """Generate the first tasks of a split, which ship with the domain; for the arguments see `generated_task`."""
    return [
        make(f"{name}-{split}-{number:03d}", split, number, f"{seed or name} fixed {split} {number}")
        for number in range(count)
    ]
