"""The cast of a task: the rows that are drawn for it, and the customer's details."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simia_gym.service.case import Case, Reader
from simia_gym.state import make_pointer
from simia_gym.types import JsonObject, Op

_FIRST_NAMES = ("Boris", "Chidi", "Dana", "Emil", "Farah", "Goran", "Hanna", "Ivo", "Jada", "Kofi", "Lena", "Mats",
               "Noor", "Otis", "Petra", "Quinn", "Rita", "Sven", "Tara", "Umar", "Vera", "Wanda", "Yara")  # fmt: skip
_LAST_NAMES = ("Bergström", "Castle", "Dorsey", "Ekwueme", "Fontaine", "Garrick", "Holm", "Ibarra", "Janssen",
              "Kowalski", "Lindgren", "Marsh", "Novak", "Okafor", "Prescott", "Quist", "Rowe", "Sato", "Tanaka",
              "Underhill", "Vance", "Whitlock", "Zeller")  # fmt: skip


@dataclass
class Member:
    """A customer: the place of its row, the row, and the details by which it is found."""

    table: str
    key: str
    row: JsonObject
    details: Mapping[str, Any]


@dataclass
class Drawn:
    """What a wish is about: the customer's slots, and the rows by names that breaches use."""

    slots: dict[str, Any]
    rows: dict[str, JsonObject] = field(default_factory=dict)


class Cast:
    """Draws rows and collects them as changes of the initial state.

    Args:
        seed: Random seed.
        base: Ids of the first draw; each split has a range of its own, so that ids of splits never meet.
        texts: Texts of the initial state.
        reader: What answers reads after operations on the initial state.

    Attributes:
        rng: Source of chance.
        taken: Texts that no new id may equal.
    """

    def __init__(self, seed: int, base: int, texts: Iterable[str], reader: Callable[[tuple[Op, ...]], Reader]) -> None:
        self.rng = random.Random(seed)
        self.taken = set(texts)
        self._reader = reader
        self._base, self._count = base, 0
        self._rows: dict[tuple[str, str], JsonObject] = {}
        self._picked: set[Any] = set()

    def number(self) -> int:
        """A number that no other row of the task has, and no task of another split."""
        self._count += 1
        return self._base + self.rng.randrange(9_000) * 100 + self._count

    def add(self, table: str, key: str, row: JsonObject) -> JsonObject:
        """Add a row, which may still be changed."""
        self._rows[table, key] = row
        return row

    def join(self, member: Member) -> Member:
        """Add a customer's row."""
        self.add(member.table, member.key, member.row)
        return member

    def rows(self, table: str) -> dict[str, JsonObject]:
        """The rows that were added to a table."""
        return {key: row for (name, key), row in self._rows.items() if name == table}

    def fresh(self, choices: Sequence[Any]) -> Any:
        """One of the choices that this task has not drawn so far."""
        value = self.rng.choice([item for item in choices if item not in self._picked])
        self._picked.add(value)
        return value

    def name(self) -> tuple[str, str]:
        """First and last name of somebody new."""
        name: tuple[str, str] = self.fresh([(first, last) for first in _FIRST_NAMES for last in _LAST_NAMES])
        return name

    def case(self, who: Member, slots: Mapping[str, Any]) -> Case:
        """What a customer wants, with what the tools show of all that has been drawn so far."""
        return Case(who.key, self._reader(self.setup()), dict(slots))

    def setup(self) -> tuple[Op, ...]:
        """The operations that add everything to the base state."""
        return tuple(
            {"op": "add", "path": make_pointer(table, key), "value": row} for (table, key), row in self._rows.items()
        )
