"""Starts episodes only as fast as a budget pays for them, so that it finishes some instead of beginning all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from simia_gym.llm.budget import Budget


class Pacing:
    """Lets episodes begin: the first alone, a further one if the rest of the budget pays it and what is in flight.

    What an episode takes is the mean of the finished ones, which bear what those in flight have taken so far, too: how
    far these are is unknown, and where the guess is high, they merely end before others begin. Few episodes tell little
    of the next: the mean of one counts twice, that of two one and a half times, and so on. An episode that is alone
    always begins, so that a run ends by the budget's own fault.

    Args:
        budget: The budget; ``None`` for none, which lets every episode begin at once.
    """

    def __init__(self, budget: Budget | None) -> None:
        limited = budget is not None and any((budget.max_calls, budget.max_tokens, budget.max_cost))
        self._budget = budget if limited else None
        self._running = self._finished = 0
        self._next = asyncio.Lock()
        self._ended = asyncio.Event()

    @asynccontextmanager
    async def episode(self) -> AsyncIterator[None]:
        """Wait until an episode may begin; it ends with the context."""
        budget = self._budget
        if budget is None:
            yield
            return
        async with self._next:  # they begin in the order in which they came
            while not self._pays(budget):
                self._ended.clear()
                await self._ended.wait()
            self._running += 1
        try:
            yield
        finally:
            self._running, self._finished = self._running - 1, self._finished + 1
            self._ended.set()

    def _pays(self, budget: Budget) -> bool:
        """Whether a further episode may begin."""
        if not self._running or not self._finished:
            return not self._running
        one = budget.share / self._finished * (1 + 1 / self._finished)
        return one * (self._finished + self._running + 1) <= 1
