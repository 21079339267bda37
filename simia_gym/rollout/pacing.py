"""Starts episodes only as fast as a budget pays for them, so that it finishes some instead of beginning all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from simia_gym.llm.budget import Budget


class Pacing:
    """Lets episodes begin: the first alone, a further one if the rest of the budget pays it and what is in flight.

    What an episode takes is the mean so far. An episode that is alone always begins, so that a run ends by the
    budget's own fault.

    Args:
        budget: The budget; ``None`` for none, which lets every episode begin at once.
    """

    def __init__(self, budget: Budget | None) -> None:
        limited = budget is not None and any((budget.max_calls, budget.max_tokens, budget.max_cost))
        self._budget = budget if limited else None
        self._running = self._finished = 0
        self._one = 0.0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def episode(self) -> AsyncIterator[None]:
        """Wait until an episode may begin; it ends with the context."""
        if self._budget is None:
            yield
            return
        async with self._changed:
            await self._changed.wait_for(self._pays)
            self._running += 1
        try:
            yield
        finally:
            async with self._changed:
                self._running, self._finished = self._running - 1, self._finished + 1
                # Those in flight have taken half of theirs, on average.
                self._one = self._budget.share / (self._finished + self._running / 2)
                self._changed.notify_all()

    def _pays(self) -> bool:
        """Whether a further episode may begin."""
        begun = self._finished + self._running
        return not self._running or (self._finished > 0 and self._one * (begun + 1) <= 1)
