"""The published tournament: five candidates at a time, the chosen ones again, until one is left."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

SIZE = 5
ANSWER = re.compile(r"Answer: ([A-F])")
_ACTION = re.compile(r"Action: (CLICK|SELECT|TYPE)")
_VALUE = re.compile(r"Value: (.*)")


@dataclass(frozen=True, slots=True)
class Choice:
    """What a reply says: a letter, an operation, and its value."""

    letter: str
    op: str
    value: str


NO_CHOICE = Choice("A", "", "")


def read_reply(reply: str) -> Choice:
    """The first answer, action and value of a reply; what cannot be read is A, with no action."""
    answer, action, value = (pattern.search(reply) for pattern in (ANSWER, _ACTION, _VALUE))
    op = action[1] if action else ""
    return Choice(answer[1] if answer else "A", op, value[1].strip() if value and op != "CLICK" else "")


@dataclass(frozen=True, slots=True)
class Prediction:
    """The element that won and the action on it."""

    element: str
    op: str
    value: str


class Tournament:
    """One step's queries. Ask `query`, `answer` it, until `query` is None; then read `prediction`.

    Attributes:
        query: The candidates that are asked about, in the order of the page.
    """

    def __init__(self, candidates: Sequence[str], *, page_order: Sequence[str], seed: int | str, published: bool):
        """Shuffles the candidates.

        Args:
            candidates: The best candidates.
            page_order: Every candidate in the order of the page; the choices of a query stand so.
            seed: The shuffle follows from it.
            published: A lone last candidate is never asked.
        """
        chosen = set(candidates)
        self._order = [name for name in page_order if name in chosen]
        self._queue = [*self._order]
        random.Random(f"mind2web-tournament/{seed}").shuffle(self._queue)
        self._published = published
        self._last: Prediction | None = None
        self.query: tuple[str, ...] | None = None
        self._next()

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Tournament:
        """A tournament that goes on where another was written down."""
        made = cls((), page_order=(), seed=0, published=row["published"])
        made._order, made._queue = [*row["order"]], [*row["queue"]]
        made._last = None if row["last"] is None else Prediction(**row["last"])
        made.query = None if row["query"] is None else tuple(row["query"])
        return made

    def to_row(self) -> dict[str, Any]:
        """What `of_row` needs, as JSON values."""
        return {
            "published": self._published,
            "order": [*self._order],
            "queue": [*self._queue],
            "query": None if self.query is None else [*self.query],
            "last": None if self._last is None else asdict(self._last),
        }

    def answer(self, choice: Choice) -> None:
        """Takes the answer to the query. A, and a letter that no choice has, choose none."""
        if self.query is None:
            raise ValueError("the tournament is over")
        place = ord(choice.letter) - ord("B")
        if 0 <= place < len(self.query):
            self._last = Prediction(self.query[place], choice.op, choice.value)
            self._queue.append(self._last.element)
        self._next()

    @property
    def prediction(self) -> Prediction | None:
        """What won, or None."""
        return self._last if self._queue and self.query is None else None

    def _next(self) -> None:
        won = self._last is not None and self._queue == [self._last.element]
        least = 2 if self._published or won else 1
        if len(self._queue) < least:
            self.query = None
            return
        batch, self._queue = self._queue[:SIZE], self._queue[SIZE:]
        self.query = tuple(sorted(batch, key=self._order.index))
