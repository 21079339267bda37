"""Detects whether other users of a shared machine slow down the client's core.

Times a fixed piece of work on that core before and after each run: visits to objects all over the memory, like those of
many episodes. Only these times decide whether a run is kept, never the run's own result.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.model_calls.measure import CLIENT_CORE, pin

BUSY = 1.07
"""Ratio to the best time from which the core counts as disturbed."""
_PASSES, _SAMPLES, _PAUSE = 5, 8, 0.02
_ROWS, _FIELDS = 4000, 20
_LEARNING, _PATIENCE = 8.0, 5.0


class Quiet:
    """Compares the core's current speed with its best.

    Args:
        sample: Runs the work once; returns its CPU seconds.
        clock: Returns the time in seconds.
        sleep: Waits for the given seconds.
    """

    def __init__(
        self,
        sample: Callable[[], float] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._sample, self._clock, self._sleep = sample or Work(), clock, sleep
        self.best = float("inf")

    def learn(self) -> None:
        """Measure the best time of the work for a few seconds."""
        end = self._clock() + _LEARNING
        while self._clock() < end:
            self.now()

    def now(self) -> float:
        """Median CPU seconds of the work now; updates the best time."""
        found = []
        for _ in range(_SAMPLES):
            found.append(self._sample())
            self._sleep(_PAUSE)
        middle = statistics.median(found)
        self.best = min(self.best, middle)
        return middle

    def wait(self) -> float:
        """Wait until the core is undisturbed, or a time limit; return the last CPU seconds of the work."""
        end = self._clock() + _PATIENCE
        found = self.now()
        while found > BUSY * self.best and self._clock() < end:
            found = self.now()
        return found

    def measured(self, run: Callable[[], dict[str, Any]], attempts: int) -> dict[str, Any]:
        """Run something on an undisturbed core; repeat it if it was disturbed.

        Args:
            run: Returns a result; may raise.
            attempts: Maximum number of attempts.

        Returns:
            The result of the least disturbed attempt, with ``core``: the times of the work before and after it,
            relative to the best time; the best time in milliseconds; and the same for the other attempts, with their
            figures.
        """
        tried: list[tuple[float, float, dict[str, Any]]] = []
        while len(tried) < attempts:
            before = self.wait()
            result = run()
            after = self.now()
            tried.append((before, after, result))
            if max(before, after) <= BUSY * self.best:
                break
        tried.sort(key=lambda one: max(one[:2]))  # by seconds, since the best time may have changed in between
        told = [
            {"before": round(before / self.best, 3), "after": round(after / self.best, 3), "result": _figures(result)}
            for before, after, result in tried
        ]
        core = {"before": told[0]["before"], "after": told[0]["after"], "best_ms": round(1000 * self.best, 3)}
        return {**tried[0][2], "core": {**core, "disturbed": told[1:]}}


def _figures(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if isinstance(value, int | float | str)}


class Work:
    """The fixed work: visits rows all over the memory in an order that caches cannot predict."""

    def __init__(self) -> None:
        self._rows = [[{"text": f"value {n}", "number": n} for n in range(_FIELDS)] for _ in range(_ROWS)]
        random.Random(0).shuffle(self._rows)

    def __call__(self) -> float:
        """Run the work; return its CPU seconds."""
        with _on_core():
            began = time.thread_time()
            for _ in range(_PASSES):
                total = 0
                for row in self._rows:
                    for item in row:
                        total += item["number"] + len(item["text"])  # type: ignore[operator, arg-type]
            return time.thread_time() - began


@contextmanager
def _on_core() -> Iterator[None]:
    allowed = os.sched_getaffinity(0)
    pin(CLIENT_CORE)
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
