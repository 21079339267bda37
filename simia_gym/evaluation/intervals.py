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

import numpy as np

from simia_gym.errors import InputError
from simia_gym.rollout.summary import Z95, wilson
from simia_gym.types import JsonObject

RESAMPLES = 10_000
_LOW, _HIGH = 0.025, 0.975


def mean_over_tasks(values: Sequence[float], *, shares: bool = True, seed: int = 0) -> JsonObject:
    """The mean of one value per task, with its interval.

    Args:
        values: One value per task.
        shares: Whether the values are shares in [0, 1], so that values of only 0 and 1 make a proportion. Pass
            ``False`` for counts, such as turns.
        seed: Random seed of the bootstrap.

    Returns:
        ``value``, ``None`` without any task; ``interval`` ``[low, high]``, ``None`` if there are too few tasks for one;
        the number of ``tasks``; the interval's ``method``: ``wilson``, ``bootstrap``, ``agresti-min`` or ``none``.
    """
    exact = None
    if shares and values and set(values) <= {0.0, 1.0}:
        exact = ("wilson", wilson(round(math.fsum(values)), len(values)))
    return _mean(values, exact, seed)


def mean_difference(first: Sequence[float], second: Sequence[float], *, seed: int = 0) -> JsonObject:
    """The mean of second minus first, over the same tasks, with its interval.

    Args:
        first: One value per task.
        second: One value per task, for the same tasks in the same order.
        seed: Random seed of the bootstrap.

    Returns:
        As `mean_over_tasks`.

    Raises:
        InputError: ``first`` and ``second`` differ in length.
    """
    if len(first) != len(second):
        what = f"there are {len(first)} values and {len(second)}"
        raise InputError(what, where="difference", fix="Pair them by task.")
    differences = [two - one for one, two in zip(first, second, strict=True)]
    exact = None
    if differences and {*first, *second} <= {0.0, 1.0}:
        gained, lost = differences.count(1.0), differences.count(-1.0)
        exact = ("agresti-min", agresti_min(gained, lost, len(differences)))
    return _mean(differences, exact, seed)


def two_runs(trials: Sequence[tuple[int, float]], mean: JsonObject) -> JsonObject:
    """By how much the means of two single runs, one trial a task each, differ by chance: 95% differ by less.

    Args:
        trials: Of each task the number of trials, and the sum of their squared differences from their mean.
        mean: The mean over these tasks, with its interval.

    Returns:
        ``value``; ``from``: ``trials`` where half of the tasks or more have two trials, else ``interval``. The
        interval over tasks covers their choice, too, so that its value is of two runs of different tasks: an upper
        bound. Without an interval the value is ``None`` and ``from`` is ``none``.
    """
    spread = [squares / (count - 1) for count, squares in trials if count > 1]
    if spread and 2 * len(spread) >= len(trials):
        variance = math.fsum(spread) / len(spread) / len(trials)
        return {"value": Z95 * math.sqrt(2 * variance), "from": "trials"}
    if mean["interval"] is None:
        return {"value": None, "from": "none"}
    low, high = mean["interval"]
    return {"value": (high - low) / math.sqrt(2), "from": "interval"}


def _mean(values: Sequence[float], exact: tuple[str, tuple[float, float]] | None, seed: int) -> JsonObject:
    """The mean with the given method and interval, or else with the bootstrap's."""
    count = len(values)
    mean = math.fsum(values) / count if count else None
    if exact is None and count < 2:
        return {"value": mean, "interval": None, "tasks": count, "method": "none"}
    method, bounds = exact or ("bootstrap", bootstrap(values, seed=seed))
    return {"value": mean, "interval": list(bounds), "tasks": count, "method": method}


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
    half = Z95 * math.sqrt(more + less - (more - less) ** 2 / total) / total
    return max(-1.0, centre - half), min(1.0, centre + half)
