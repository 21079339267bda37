"""Means over tasks with 95% confidence intervals.

Trials of one task are correlated, so the unit of resampling is the task, not the episode. If every task has the value 0
or 1, the mean is a proportion and gets Wilson's interval, which also holds if all or none succeed, where a bootstrap
interval would have width 0. All other means get a seeded percentile bootstrap over tasks. Differences between two
policies on the same tasks are treated alike, with the interval of Agresti and Min for matched pairs ("Simple improved
confidence intervals for comparing matched proportions", Statistics in Medicine 2005) instead of Wilson's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simia_gym.errors import InputError
from simia_gym.rollout.summary import wilson
from simia_gym.types import JsonObject

Method = Literal["wilson", "bootstrap", "agresti-min", "none"]

RESAMPLES = 10_000
_Z95 = 1.959963984540054
_LOW, _HIGH = 0.025, 0.975


@dataclass(frozen=True)
class Estimate:
    """A mean over tasks with its 95% interval.

    Attributes:
        value: The mean; ``None`` without any task.
        low: Lower bound; ``None`` without an interval.
        high: Upper bound; ``None`` without an interval.
        tasks: Number of tasks.
        method: Method of the interval; ``none`` if there are too few tasks for one.
    """

    value: float | None
    low: float | None
    high: float | None
    tasks: int
    method: Method

    def to_json(self) -> JsonObject:
        """The estimate as a JSON object."""
        interval = None if self.low is None else [self.low, self.high]
        return {"value": self.value, "interval": interval, "tasks": self.tasks, "method": self.method}


def mean_over_tasks(
    values: Sequence[float], *, shares: bool = True, seed: int = 0, resamples: int = RESAMPLES
) -> Estimate:
    """The mean of one value per task.

    Args:
        values: One value per task.
        shares: Whether the values are shares in [0, 1], so that values of only 0 and 1 make a proportion. Pass
            ``False`` for counts, such as turns.
        seed: Random seed of the bootstrap.
        resamples: Number of bootstrap resamples.
    """
    if not values:
        return Estimate(None, None, None, 0, "none")
    mean, count = math.fsum(values) / len(values), len(values)
    if shares and set(values) <= {0.0, 1.0}:
        low, high = wilson(round(math.fsum(values)), count)
        return Estimate(mean, low, high, count, "wilson")
    if count == 1:
        return Estimate(mean, None, None, 1, "none")
    low, high = bootstrap(values, seed=seed, resamples=resamples)
    return Estimate(mean, low, high, count, "bootstrap")


def mean_difference(
    first: Sequence[float], second: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES
) -> Estimate:
    """The mean of second minus first, over the same tasks.

    Args:
        first: One value per task.
        second: One value per task, for the same tasks in the same order.
        seed: Random seed of the bootstrap.
        resamples: Number of bootstrap resamples.

    Raises:
        InputError: ``first`` and ``second`` differ in length.
    """
    if len(first) != len(second):
        what = f"there are {len(first)} values and {len(second)}"
        raise InputError(what, where="difference", fix="Pair them by task.")
    differences = [two - one for one, two in zip(first, second, strict=True)]
    count = len(differences)
    if not count:
        return Estimate(None, None, None, 0, "none")
    mean = math.fsum(differences) / count
    if {*first, *second} <= {0.0, 1.0}:
        gained, lost = differences.count(1.0), differences.count(-1.0)
        low, high = agresti_min(gained, lost, count)
        return Estimate(mean, low, high, count, "agresti-min")
    if count == 1:
        return Estimate(mean, None, None, 1, "none")
    low, high = bootstrap(differences, seed=seed, resamples=resamples)
    return Estimate(mean, low, high, count, "bootstrap")


def bootstrap(values: Sequence[float], *, seed: int, resamples: int = RESAMPLES) -> tuple[float, float]:
    """The 95% percentile interval of a mean.

    Args:
        values: One value per task, in any order.
        seed: Random seed.
        resamples: Number of resamples; each draws ``len(values)`` tasks with replacement.
    """
    # The mean depends only on how often each distinct value is drawn; drawing these counts is much cheaper.
    distinct, counts = np.unique(np.asarray(values, dtype=float), return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(values), counts / len(values), size=resamples)
    means = drawn @ distinct / len(values)
    low, high = np.quantile(means, (_LOW, _HIGH))
    return float(low), float(high)


def agresti_min(gained: int, lost: int, pairs: int) -> tuple[float, float]:
    """The 95% interval of the difference of two proportions over the same tasks.

    Args:
        gained: Number of tasks that only the second policy solved.
        lost: Number of tasks that only the first policy solved.
        pairs: Number of all tasks.

    Returns:
        Lower and upper bound of (gained - lost) / pairs: Wald's interval with 0.5 added to each of the four cells.
    """
    total, more, less = pairs + 2, gained + 0.5, lost + 0.5
    centre = (more - less) / total
    half = _Z95 * math.sqrt(more + less - (more - less) ** 2 / total) / total
    return max(-1.0, centre - half), min(1.0, centre + half)
