"""In which order the resets of an environment go through its tasks."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from simia_gym.errors import InputError

Order = Literal["random", "shuffled", "listed"]
"""How resets choose tasks.

``random`` draws from all; ``shuffled`` takes every task once, in a random order, before any comes again; ``listed``
does the same in the order of the list.
"""


class TaskOrder:
    """Positions in a list of tasks, one for each reset; all lanes of a vector share one.

    Args:
        order: One of `Order`.
        count: How many tasks there are.

    Attributes:
        epoch: How often all tasks were gone through before the last position; ``None`` in
            the order ``random``.

    Raises:
        InputError: There is no such order.
    """

    def __init__(self, order: Order, count: int) -> None:
        if order not in get_args(Order):
            fix = f"Use {', '.join(get_args(Order))}."
            raise InputError(f"task_order is {order!r}", where="task_order", fix=fix)
        self.order, self.count = order, count
        self.restart(None)

    def restart(self, seed: int | None) -> None:
        """Begin with the first task of an order that the seed decides."""
        self._generator = np.random.default_rng(seed)
        self._given = 0
        self.epoch: int | None = None
        self._moved: dict[int, int] = {}

    def next(self, drawn: int) -> int:
        """The next position.

        Args:
            drawn: A position drawn at random, for the order ``random``.
        """
        if self.order == "random":
            return drawn
        self.epoch, place = divmod(self._given, self.count)
        self._given += 1
        if self.order == "listed":
            return place
        # A shuffle that keeps only what it has moved, so that a billion generated tasks take no memory.
        if place == 0:
            self._moved.clear()
        other = int(self._generator.integers(place, self.count))
        here = self._moved.pop(place, place)
        if other == place:
            return here
        found = self._moved.get(other, other)
        self._moved[other] = here
        return found
