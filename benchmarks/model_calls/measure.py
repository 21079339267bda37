"""Measures a run, in our process and in those of other frameworks; uses only the standard library."""

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
    """Whether client and server can have separate cores."""
    return {CLIENT_CORE, SERVER_CORE} <= os.sched_getaffinity(0)


def pin(core: int) -> None:
    """Pin this process and its children to one core; does nothing on a machine with one core."""
    if core in os.sched_getaffinity(0):
        os.sched_setaffinity(0, {core})


class Meter:
    """Measures wall time and CPU between `begin` and `end`, without imports and set-up.

    Args:
        concurrency: Number of concurrent episodes.
        latency: Mean latency of one response in seconds.
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
        """Stop measuring.

        Args:
            turns: Number of turns that were played.
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
    """Peak resident memory of this process in MB, without that of its parent."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def quantile(ordered: Sequence[float], share: float) -> float:
    """A quantile of a sorted list."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def settings() -> dict[str, Any]:
    """The settings of this process: a JSON object, its only argument."""
    read: dict[str, Any] = json.loads(sys.argv[1])
    return read


def report(result: dict[str, Any]) -> None:
    """Print the result as the last line of the output, where the benchmark reads it."""
    sys.stdout.flush()
    print("\n" + json.dumps(result), flush=True)
