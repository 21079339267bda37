"""The order in which the resets of an environment choose tasks."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from simia_gym.common.secrets import shown_value
from simia_gym.errors import InputError

Order = Literal["random", "shuffled", "listed"]
"""How resets choose tasks.

``random`` draws with replacement; ``shuffled`` plays every task once per epoch, in a new random order; ``listed`` plays
every task once per epoch, in list order.
"""


class TaskOrder:
    """Chooses the index of the next task at each reset; the sub-environments of a vector environment share one object.

    Attributes:
        epoch: Number of completed passes before the last chosen task; ``None`` with ``random``.

    Raises:
        InputError: There is no such order.
    """

    def __init__(self, order: Order, count: int) -> None:
        if order not in get_args(Order):
            fix = f"Use {', '.join(get_args(Order))}."
            raise InputError(f"task_order is {shown_value(order)}", where="task_order", fix=fix)
        self.order, self.count = order, count
        self.restart(None)

    def restart(self, seed: int | None) -> None:
        """Start again with the first task of epoch 0; the seed determines the shuffled orders."""
        self._generator = np.random.default_rng(seed)
        self._given = 0
        self.epoch: int | None = None
        self._moved: dict[int, int] = {}

    def next(self, drawn: int) -> int:
        """The index of the next task.

        Args:
            drawn: A random index, used by the order ``random``.
        """
        if self.order == "random":
            return drawn
        self.epoch, place = divmod(self._given, self.count)
        self._given += 1
        if self.order == "listed":
            return place
        # A Fisher-Yates shuffle that stores only moved items, so that a billion generated tasks need no memory.
        if place == 0:
            self._moved.clear()
        other = int(self._generator.integers(place, self.count))
        here = self._moved.pop(place, place)
        if other == place:
            return here
        found = self._moved.get(other, other)
        self._moved[other] = here
        return found
