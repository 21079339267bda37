"""Means over tasks and how sure one can be of them: 95% intervals whose unit is the task.

Trials of one task are alike, so that tasks and not episodes are what is resampled. Where every task has a value of 0 or
1 (one trial each, or a share of nothing or all), their mean is a proportion, and Wilson's interval is used: it is right
also where all succeed or none, of which a bootstrap would say that nothing else is possible. Everywhere else it is
the percentile bootstrap over tasks, from a seed. For differences between two policies on the same tasks the same holds
with the interval of Agresti and Min for matched pairs ("Simple improved confidence intervals for comparing matched
proportions", Statistics in Medicine 2005) in place of Wilson's.
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
        low: Lower bound; ``None`` where there is no interval.
        high: Upper bound.
        tasks: How many tasks it is over.
        method: Where the interval comes from; ``none`` where one task, or none, allows no statement.
    """

    value: float | None
    low: float | None
    high: float | None
    tasks: int
    method: Method

    def to_json(self) -> JsonObject:
        """The value with its interval, as JSON."""
        interval = None if self.low is None else [self.low, self.high]
        return {"value": self.value, "interval": interval, "tasks": self.tasks, "method": self.method}


def mean_over_tasks(
    values: Sequence[float], *, shares: bool = True, seed: int = 0, resamples: int = RESAMPLES
) -> Estimate:
    """The mean of one value per task.

    Args:
        values: The values.
        shares: Whether they are shares of something, 0 to 1, so that 0 and 1 alone make a proportion; numbers of turns
            that happen to be 1 are none.
        seed: Seed of the bootstrap.
        resamples: How often it draws.
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
        second: Values of the same tasks in the same order.
        seed: Seed of the bootstrap.
        resamples: How often it draws.

    Raises:
        InputError: They are not equally many.
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
        seed: Where the draws come from.
        resamples: How often it draws as many tasks as there are, with replacement.
    """
    # How often each distinct value is drawn says all there is to a mean, and is far less than which task was drawn.
    distinct, counts = np.unique(np.asarray(values, dtype=float), return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(values), counts / len(values), size=resamples)
    means = drawn @ distinct / len(values)
    low, high = np.quantile(means, (_LOW, _HIGH))
    return float(low), float(high)


def agresti_min(gained: int, lost: int, pairs: int) -> tuple[float, float]:
    """The 95% interval of the difference of two proportions over the same tasks.

    Args:
        gained: Tasks that only the second solved.
        lost: Tasks that only the first solved.
        pairs: All tasks.

    Returns:
        Bounds of (gained - lost) / pairs: Wald's, with half a task added to each of the four cells.
    """
    total, more, less = pairs + 2, gained + 0.5, lost + 0.5
    centre = (more - less) / total
    half = _Z95 * math.sqrt(more + less - (more - less) ** 2 / total) / total
    return max(-1.0, centre - half), min(1.0, centre + half)
