"""Is the client's core as fast as it can be? On a shared machine neighbours take cache and memory from it, by spells.

A fixed piece of work is timed on that core: objects all over the memory, as those of many episodes are. Nothing of a
run's own result says whether it is kept, only what was timed before it and after it.
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
"""From how many times the least time on the core counts as disturbed."""
_PASSES, _SAMPLES, _PAUSE = 5, 8, 0.02
_ROWS, _FIELDS = 4000, 20
_LEARNING, _PATIENCE = 8.0, 5.0


class Quiet:
    """Knows how fast the core has been at its best.

    Args:
        sample: Times the work once; seconds of CPU.
        clock: Gives the time in seconds.
        sleep: Waits for so many seconds.
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
        """Look for a while how fast the core is."""
        end = self._clock() + _LEARNING
        while self._clock() < end:
            self.now()

    def now(self) -> float:
        """How many seconds the work takes now; the least of them is remembered."""
        found = []
        for _ in range(_SAMPLES):
            found.append(self._sample())
            self._sleep(_PAUSE)
        middle = statistics.median(found)
        self.best = min(self.best, middle)
        return middle

    def wait(self) -> float:
        """Wait until the core is quiet, or patience is at an end; the seconds that the work takes then."""
        end = self._clock() + _PATIENCE
        found = self.now()
        while found > BUSY * self.best and self._clock() < end:
            found = self.now()
        return found

    def measured(self, run: Callable[[], dict[str, Any]], attempts: int) -> dict[str, Any]:
        """Run something in quiet, again where it was disturbed.

        Args:
            run: Gives a result; it may raise.
            attempts: How often at most.

        Returns:
            The result of the quietest attempt, with ``core``: how many times its least time so far the work took before
            and after it, that least time in milliseconds, and the same of the attempts that were not kept, with the
            single figures that they gave.
        """
        tried: list[tuple[float, float, dict[str, Any]]] = []
        while len(tried) < attempts:
            before = self.wait()
            result = run()
            after = self.now()
            tried.append((before, after, result))
            if max(before, after) <= BUSY * self.best:
                break
        tried.sort(key=lambda one: max(one[:2]))  # in seconds: the least time may have become less in between
        told = [
            {"before": round(before / self.best, 3), "after": round(after / self.best, 3), "result": _figures(result)}
            for before, after, result in tried
        ]
        core = {"before": told[0]["before"], "after": told[0]["after"], "best_ms": round(1000 * self.best, 3)}
        return {**tried[0][2], "core": {**core, "disturbed": told[1:]}}


def _figures(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if isinstance(value, int | float | str)}


class Work:
    """The fixed work: rows all over the memory, visited in an order that no cache foresees."""

    def __init__(self) -> None:
        self._rows = [[{"text": f"value {n}", "number": n} for n in range(_FIELDS)] for _ in range(_ROWS)]
        random.Random(0).shuffle(self._rows)

    def __call__(self) -> float:
        """Do it; seconds of CPU."""
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
