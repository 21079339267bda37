"""Waiting for a quiet core: what is kept depends on the core's time alone, never on what a run measured."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from benchmarks.model_calls.quiet import BUSY, Quiet, Work


class Machine:
    """A core whose speed is told beforehand, one figure for each look at it, and a clock that its looks move on."""

    def __init__(self, *looks: float) -> None:
        self._looks, self._now, self._left = iter(looks), 0.0, 0
        self._speed = 1.0
        self.quiet = Quiet(self._sample, lambda: self._now, self._sleep)

    def _sample(self) -> float:
        if not self._left:
            self._speed, self._left = next(self._looks, 1.0), 8
        self._left -= 1
        return self._speed

    def _sleep(self, seconds: float) -> None:
        self._now += seconds


def results(*figures: float) -> Iterator[dict[str, Any]]:
    for figure in figures:
        yield {"cpu": figure, "by_turn": [figure]}


@pytest.mark.parametrize(("looks", "waited"), [((1.5, 1.4, 1.02), 1.02), ([1.5] * 1000, 1.5)])
def test_a_run_waits_for_quiet_and_patience_has_an_end(looks: Sequence[float], waited: float) -> None:
    quiet = Machine(1.0, *looks).quiet
    quiet.now()
    assert quiet.wait() == waited


def test_what_was_not_disturbed_is_not_repeated() -> None:
    quiet = Machine(1.0, 1.0, 1.05).quiet
    quiet.now()
    runs = results(7.0, 1.0)
    kept = quiet.measured(lambda: next(runs), 3)
    assert kept["by_turn"] == [7.0]
    assert kept["core"] == {"before": 1.0, "after": 1.05, "best_ms": 1000.0, "disturbed": []}


def test_the_quietest_attempt_is_kept_and_not_the_best_one() -> None:
    #                best  before, after: three attempts, each begun in quiet
    quiet = Machine(1.0, 1.0, 1.3, 1.0, 1.2, 1.0, 1.4).quiet
    quiet.now()
    runs = results(1.0, 9.0, 2.0)
    kept = quiet.measured(lambda: next(runs), 3)
    assert (kept["cpu"], kept["core"]["after"]) == (9.0, 1.2)
    assert kept["core"]["disturbed"] == [
        {"before": 1.0, "after": 1.3, "result": {"cpu": 1.0}},
        {"before": 1.0, "after": 1.4, "result": {"cpu": 2.0}},
    ]


def test_the_work_takes_cpu_and_leaves_the_process_where_it_may_run() -> None:
    before = os.sched_getaffinity(0)
    assert Work()() > 0
    assert os.sched_getaffinity(0) == before
    assert BUSY > 1
