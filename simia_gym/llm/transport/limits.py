"""An adaptive limit on the requests in flight to one model.

A response with status 429 shrinks the limit by a fifth, at most once in the pause that the server asks for; after it,
successful responses let the limit grow again. Before the first 429, only the configured ceiling applies. All event
loops and threads of a process share the limit of a model.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Literal

from simia_gym.llm.transport.fair_queue import FairQueue

_SHRINK = 0.8
_GROW = 0.05
_LEAST_PAUSE = 1.0


class AdaptiveLimit(FairQueue[None, Literal[True]]):
    """Permits for requests to one model; safe to use from several threads.

    Args:
        ceiling: Maximum number of permits; ``None`` for no ceiling.
        clock: Returns the time in seconds.

    Attributes:
        in_flight: Number of permits in use.
        limit: Current number of permits; infinite without a limit.
    """

    def __init__(self, ceiling: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._ceiling = math.inf if ceiling is None else float(ceiling)
        self._clock = clock
        self._quiet_until = -math.inf
        self.limit = self._ceiling
        self.in_flight = 0

    def after_fork(self) -> None:
        """Forget the requests that the parent process has in flight."""
        super().after_fork()
        self.in_flight = 0

    def lower_ceiling(self, ceiling: int | None) -> None:
        """Lower the ceiling; a higher value or ``None`` changes nothing."""
        if ceiling is not None and ceiling < self._ceiling:
            with self._lock:
                self._ceiling = float(ceiling)
                self.limit = min(self.limit, self._ceiling)

    async def acquire(self) -> None:
        """Wait for a permit; call `release` later. A cancelled wait takes no permit."""
        await self._wait(None)

    def release(self) -> None:
        """Return a permit."""
        with self._lock:
            self.in_flight -= 1
            if self._queue:
                self._serve()

    def answered(self) -> None:
        """Note a successful response; the limit may grow."""
        if self.limit >= self._ceiling:
            return
        with self._lock:
            # Grow only if the limit is nearly reached.
            if self._clock() >= self._quiet_until and (self._queue or self.in_flight >= _SHRINK * self.limit):
                self.limit = min(self._ceiling, self.limit + max(_GROW, 1 / self.limit))
                self._serve()

    def refused(self, wait: float | None) -> None:
        """Note a response with status 429; the limit shrinks.

        Args:
            wait: Pause that the server asks for, in seconds; ``None`` if it asks for none.
        """
        now = self._clock()
        with self._lock:
            if now >= self._quiet_until:
                self._quiet_until = now + max(_LEAST_PAUSE, wait or 0.0)
                self.limit = max(1.0, _SHRINK * min(self.limit, max(1, self.in_flight)))

    def _grant(self, asked: None) -> Literal[True] | None:
        if self.in_flight + 1 > self.limit:
            return None
        self.in_flight += 1
        return True

    def _take_back(self, permit: Literal[True]) -> None:
        self.in_flight -= 1


_limits: dict[tuple[str, str], AdaptiveLimit] = {}


def limit_of(url: str, model: str, ceiling: int | None = None) -> AdaptiveLimit:
    """The limit of a model behind an address, one for the whole process, with the lowest ceiling of all callers."""
    found = _limits.setdefault((url, model), AdaptiveLimit())
    found.lower_ceiling(ceiling)
    return found
