"""An adaptive limit on the requests in flight to one model.

A response with status 429 shrinks the limit by a fifth, at most once per pause that the server asks for. Other failures
(5xx, timeouts) stop its growth for a second; successful responses let it grow again. Before the first 429, only the
configured ceiling applies. All event loops and threads of a process share the limit of a model.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from simia_gym.llm.transport.forks import fresh_after_fork
from simia_gym.types import JsonObject

_SHRINK = 0.8
_GROW = 0.05
_LEAST_PAUSE = 0.25
_FAILURE_PAUSE = 1.0
_MOST_CHANGES = 100


@dataclass(eq=False, slots=True)
class _Waiting:
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[None]
    granted: bool = False


class AdaptiveLimit:
    """Permits for requests to one model; safe to use from several threads.

    Args:
        ceiling: Maximum number of permits; ``None`` for no ceiling.
        clock: Returns the time in seconds.

    Attributes:
        in_flight: Number of permits in use.
    """

    def __init__(self, ceiling: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._ceiling = math.inf if ceiling is None else float(ceiling)
        self._limit = self._ceiling
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: deque[_Waiting] = deque()
        self._quiet_until = -math.inf
        self._shrunk_until = -math.inf
        self._changes: deque[tuple[str, int]] = deque(maxlen=_MOST_CHANGES)
        self.in_flight = 0
        fresh_after_fork(self)

    def after_fork(self) -> None:
        """Forget the requests that the parent process has in flight."""
        self._lock = threading.Lock()
        self._waiting.clear()
        self.in_flight = 0

    @property
    def limit(self) -> float:
        """Current number of permits; infinite without a limit."""
        return self._limit

    def lower_ceiling(self, ceiling: int | None) -> None:
        """Lower the ceiling; a higher value or ``None`` changes nothing."""
        if ceiling is not None and ceiling < self._ceiling:
            with self._lock:
                self._ceiling = float(ceiling)
                self._limit = min(self._limit, self._ceiling)

    def take(self) -> bool:
        """Take a permit if one is free and no request waits; if this returns true, call `release` later."""
        with self._lock:
            free = not self._waiting and self.in_flight + 1 <= self._limit
            self.in_flight += free
            return free

    async def acquire(self) -> None:
        """Wait for a permit; call `release` later. A cancelled wait takes no permit."""
        with self._lock:
            if not self._waiting and self.in_flight + 1 <= self._limit:
                self.in_flight += 1
                return
            loop = asyncio.get_running_loop()
            mine = _Waiting(loop, loop.create_future())
            self._waiting.append(mine)
        try:
            await mine.future
        except BaseException:
            with self._lock:
                if mine.granted:
                    self.in_flight -= 1
                else:
                    self._waiting.remove(mine)
                self._grant()
            raise

    def release(self) -> None:
        """Return a permit."""
        with self._lock:
            self.in_flight -= 1
            if self._waiting:
                self._grant()

    def answered(self) -> None:
        """Note a successful response; the limit may grow."""
        if self._limit >= self._ceiling:
            return
        with self._lock:
            # Grow only if the limit is nearly reached.
            if self._clock() >= self._quiet_until and (self._waiting or self.in_flight >= _SHRINK * self._limit):
                self._limit = min(self._ceiling, self._limit + max(_GROW, 1 / self._limit))
                self._grant()

    def refused(self, wait: float | None) -> None:
        """Note a response with status 429; the limit shrinks.

        Args:
            wait: Pause that the server asks for, in seconds; ``None`` if it asks for none.
        """
        now = self._clock()
        with self._lock:
            pause = max(_LEAST_PAUSE, wait or 0.0)
            if now < self._shrunk_until:
                return
            self._shrunk_until = now + max(1.0, pause)
            self._quiet_until = max(self._quiet_until, now + pause)
            base = min(self._limit, max(1, self.in_flight))
            self._limit = max(1.0, _SHRINK * base)
            self._changes.append(("rate_limit", math.floor(self._limit)))

    def failed(self) -> None:
        """Note a server failure; the limit does not grow for a second."""
        if self._limit < self._ceiling:
            self._quiet_until = max(self._quiet_until, self._clock() + _FAILURE_PAUSE)

    def snapshot(self) -> JsonObject:
        """The current limit and its recent reductions, as JSON."""
        with self._lock:
            return {
                "limit": None if self._limit == math.inf else math.floor(self._limit),
                "ceiling": None if self._ceiling == math.inf else int(self._ceiling),
                "in_flight": self.in_flight,
                "waiting": len(self._waiting),
                "shrunk_to": [limit for _, limit in self._changes],
            }

    def _grant(self) -> None:
        """Give free permits to waiting requests; the caller holds the lock."""
        while self._waiting and self.in_flight + 1 <= self._limit:
            one = self._waiting.popleft()
            one.granted = True
            self.in_flight += 1
            try:
                one.loop.call_soon_threadsafe(_wake, one.future)
            except RuntimeError:  # the event loop of the request is closed
                self.in_flight -= 1


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


_limits: dict[tuple[str, str], AdaptiveLimit] = {}
_lock = threading.Lock()


def limit_of(url: str, model: str, ceiling: int | None = None) -> AdaptiveLimit:
    """The limit of a model behind an address; one object for the whole process.

    Args:
        url: The address.
        model: The model's name.
        ceiling: Maximum number of requests in flight; the lowest ceiling of all callers applies.
    """
    with _lock:
        found = _limits.get((url, model))
        if found is None:
            found = _limits[(url, model)] = AdaptiveLimit(ceiling)
    found.lower_ceiling(ceiling)
    return found


def limits() -> JsonObject:
    """The limits of this process, by model, as JSON without addresses."""
    with _lock:
        found = sorted(_limits.items())
    result: JsonObject = {}
    for (_, model), limit in found:
        result.setdefault(model, []).append(limit.snapshot())
    return result
