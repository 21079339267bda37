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
import types
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

_NOTICEABLE = 0.01
_TO_CLEAN_UP = 1.0


class TimeUpError(BaseException):
    """Interrupts an episode that never awaits; a `BaseException`, so that ``except Exception`` does not catch it."""


class Clock:
    """Enforces the time limit, in seconds, of all episodes on one event loop; ``None`` for no limit."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._open: set[asyncio.Timeout] = set()
        self._armed = self._rings = False

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Install the alarm handler while episodes run."""
        in_main_thread = threading.current_thread() is threading.main_thread()
        if self._seconds is None or sys.platform == "win32" or not in_main_thread:
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

    async def run(self, work: Callable[[Callable[[], bool]], Coroutine[Any, Any, T]]) -> T:
        """Run one episode within its time limit.

        ``work`` makes the coroutine of the episode, given a function that says whether the deadline has passed.

        Raises:
            TimeoutError: The deadline passed while the episode was waiting.
            TimeUpError: The deadline passed while the episode was computing.
        """
        if self._seconds is None:
            return await work(lambda: False)
        async with asyncio.timeout(self._seconds) as limit:
            self._open.add(limit)
            try:
                return await _stepwise(work(lambda: _left(limit) <= 0), self, limit)
            finally:
                self._open.discard(limit)

    @contextmanager
    def step(self, limit: asyncio.Timeout) -> Iterator[None]:
        """Time one uninterrupted piece of an episode, from one await to the next."""
        began = time.monotonic()
        if self._rings and sys.platform != "win32":
            self._armed = True
            left = _left(limit)
            signal.setitimer(signal.ITIMER_REAL, left if left > 0 else _TO_CLEAN_UP)
        try:
            yield
        finally:
            self._armed = False
            if self._rings and sys.platform != "win32":
                signal.setitimer(signal.ITIMER_REAL, 0)
            held_up = time.monotonic() - began
            if held_up > _NOTICEABLE:  # the other episodes could not run
                for other in self._open - {limit}:
                    if not other.expired():
                        other.reschedule((other.when() or 0) + held_up)


def _left(limit: asyncio.Timeout) -> float:
    """Seconds until a deadline."""
    return (limit.when() or math.inf) - time.monotonic()


@types.coroutine
def _stepwise(work: Coroutine[Any, Any, T], clock: Clock, limit: asyncio.Timeout) -> Generator[Any, Any, T]:
    """Run a coroutine and time each piece between two awaits."""
    given: Any = None
    raised: BaseException | None = None
    while True:
        try:
            with clock.step(limit):
                waits_for = work.send(given) if raised is None else work.throw(raised)
        except StopIteration as stop:
            result: T = stop.value
            return result
        except TimeUpError:
            if inspect.getcoroutinestate(work) != inspect.CORO_CLOSED:
                # The alarm interrupted this module, not the coroutine, whose cleanup code must run.
                with suppress(StopIteration, TimeUpError):
                    work.throw(TimeUpError())
            raise
        try:
            given, raised = (yield waits_for), None
        except BaseException as error:
            given, raised = None, error
