"""The meter of a run, for our process and for those of other frameworks alike; it needs only the standard library."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CLIENT_CORE, SERVER_CORE = 0, 1


def two_cores() -> bool:
    """Whether client and server have a core each."""
    return {CLIENT_CORE, SERVER_CORE} <= os.sched_getaffinity(0)


def pin(core: int) -> None:
    """Keep this process, and what it starts, on one core; where there is only one, nothing changes."""
    if core in os.sched_getaffinity(0):
        os.sched_setaffinity(0, {core})


class Meter:
    """Counts time and CPU between `begin` and `end`, imports and set-up not included.

    Args:
        concurrency: Episodes in flight.
        latency: Mean seconds of one answer.
    """

    def __init__(self, concurrency: int, latency: float) -> None:
        self.concurrency, self.latency = concurrency, latency
        self.turns: list[float] = []
        self._wall = 0.0
        self._used = (0.0, 0.0)

    def begin(self) -> None:
        """Start counting."""
        self._used = cpu_seconds()
        self._wall = time.perf_counter()

    def end(self, turns: int, **more: Any) -> dict[str, Any]:
        """Stop counting.

        Args:
            turns: How many turns were taken.
            **more: Further facts for the result.

        Returns:
            The result, ready for JSON.
        """
        wall = time.perf_counter() - self._wall
        user, system = (after - before for after, before in zip(cpu_seconds(), self._used, strict=True))
        ideal = self.concurrency / (2 * self.latency)
        result: dict[str, Any] = {
            "concurrency": self.concurrency,
            "turns": turns,
            "wall_s": round(wall, 4),
            "turns_per_s": round(turns / wall, 2),
            "of_ideal": round(turns / wall / ideal, 4),
            "cpu_ms_per_turn": round((user + system) * 1000 / turns, 4) if turns else None,
            "user_ms_per_turn": round(user * 1000 / turns, 4) if turns else None,
            "cpu_of_core": round((user + system) / wall, 4),
            "rss_mb": round(rss_mb(), 1),
            **more,
        }
        if self.turns:
            over = sorted(1000 * (seconds - 2 * self.latency) for seconds in self.turns)
            result["overhead_ms_p50"] = round(quantile(over, 0.5), 3)
            result["overhead_ms_p99"] = round(quantile(over, 0.99), 3)
        return result


def cpu_seconds() -> tuple[float, float]:
    """User and system seconds of this process and the children that have ended."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + children.ru_utime, own.ru_stime + children.ru_stime


def rss_mb() -> float:
    """Largest resident memory so far; that of the program alone, not of whoever started it."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def quantile(ordered: Sequence[float], share: float) -> float:
    """A value of a sorted list, by its rank."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def settings() -> dict[str, Any]:
    """What the benchmark asks of this process: the JSON object that is its only argument."""
    read: dict[str, Any] = json.loads(sys.argv[1])
    return read


def report(result: dict[str, Any]) -> None:
    """Hand the result to the benchmark: the last line of the output."""
    sys.stdout.flush()
    print("\n" + json.dumps(result), flush=True)
