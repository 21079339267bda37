"""The time limit of an episode.

The event loop cancels an episode that waits too long. An episode whose code computes without ever awaiting is
interrupted by ``SIGALRM``, in the main thread of a POSIX process only. While one episode blocks the event loop, the
others cannot run, so the blocked time is added to their limits.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_NOTICEABLE = 0.01
_TO_CLEAN_UP = 1.0


class TimeUpError(BaseException):
    """Interrupts an episode that never awaits; a `BaseException`, so that ``except Exception`` does not catch it."""


class Limit:
    """The deadline of one episode, enforced by a timeout; ``None`` for no limit."""

    def __init__(self, timeout: asyncio.Timeout | None = None) -> None:
        self._timeout = timeout

    @property
    def left(self) -> float:
        """Seconds until the deadline; infinite without a limit."""
        end = None if self._timeout is None else self._timeout.when()
        return math.inf if end is None else end - time.monotonic()

    def over(self) -> bool:
        """Whether the deadline has passed."""
        return self.left <= 0

    def extend(self, seconds: float) -> None:
        """Postpone the deadline by the time for which another episode blocked the event loop."""
        timeout = self._timeout
        if timeout is not None and not timeout.expired():
            timeout.reschedule((timeout.when() or 0) + seconds)


class Clock:
    """Enforces the time limit, in seconds, of all episodes on one event loop; ``None`` for no limit."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._open: set[Limit] = set()
        self._armed = self._rings = False

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Install the alarm handler while episodes run."""
        if self._seconds is None or sys.platform == "win32" or not _in_main_thread():
            yield
            return

        def ring(number: int, frame: FrameType | None) -> None:
            if self._armed:  # never interrupt the event loop's own code
                self._armed = False
                raise TimeUpError

        previous = signal.signal(signal.SIGALRM, ring)
        self._rings = True
        try:
            yield
        finally:
            self._rings = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)

    def run(self, work: Callable[[Limit], Coroutine[Any, Any, T]]) -> Coroutine[Any, Any, T]:
        """Run one episode within its time limit.

        ``work`` makes the coroutine of the episode, given its deadline.

        Raises:
            TimeoutError: The deadline passed while the episode was waiting.
            TimeUpError: The deadline passed while the episode was computing.
        """
        return work(Limit()) if self._seconds is None else self._limited(work)

    async def _limited(self, work: Callable[[Limit], Coroutine[Any, Any, T]]) -> T:
        async with asyncio.timeout(self._seconds) as timeout:
            limit = Limit(timeout)
            self._open.add(limit)
            try:
                return await _Stepwise(work(limit), self, limit)
            finally:
                self._open.discard(limit)

    @contextmanager
    def step(self, limit: Limit) -> Iterator[None]:
        """Time one uninterrupted piece of an episode, from one await to the next."""
        began = time.monotonic()
        if self._rings and sys.platform != "win32":
            self._armed = True
            left = limit.left
            signal.setitimer(signal.ITIMER_REAL, left if left > 0 else _TO_CLEAN_UP)
        try:
            yield
        finally:
            self._armed = False
            if self._rings and sys.platform != "win32":
                signal.setitimer(signal.ITIMER_REAL, 0)
            held_up = time.monotonic() - began
            if held_up > _NOTICEABLE:
                for other in self._open - {limit}:
                    other.extend(held_up)


class _Stepwise(Generic[T]):
    """Runs a coroutine and times each piece between two awaits."""

    def __init__(self, work: Coroutine[Any, Any, T], clock: Clock, limit: Limit) -> None:
        self._work, self._clock, self._limit = work, clock, limit

    def __await__(self) -> Generator[Any, Any, T]:
        given: Any = None
        raised: BaseException | None = None
        while True:
            try:
                with self._clock.step(self._limit):
                    waits_for = self._work.send(given) if raised is None else self._work.throw(raised)
            except StopIteration as stop:
                result: T = stop.value
                return result
            except TimeUpError:
                if inspect.getcoroutinestate(self._work) != inspect.CORO_CLOSED:
                    self._end()  # the alarm interrupted this module, not the coroutine
                raise
            try:
                given, raised = (yield waits_for), None
            except BaseException as error:
                given, raised = None, error

    def _end(self) -> None:
        """Raise the error inside the coroutine, so that its cleanup code runs."""
        try:
            self._work.throw(TimeUpError())
        except (StopIteration, TimeUpError):
            return


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
