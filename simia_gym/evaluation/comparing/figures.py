"""Figures over pairs of episodes, with intervals from one bootstrap over tasks.

Every figure is a function of sums over tasks, such as compared calls and those that agree. Each resample draws tasks
with replacement, all with all their episodes, and gives every figure its value at once. A share of which every task
says the same, and a proportion of tasks, gets Wilson's interval instead, which is not of width 0 at the borders.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simia_gym.evaluation.comparing.comparison import Figure, Pair, PolicyScore
from simia_gym.rollout.summary import wilson

RESAMPLES = 1_000
MOST_STEPS = 20
"""Agreement by the number of the call is given up to this one."""
_AT_ONCE = 25
_LOW, _HIGH = 0.025, 0.975
_FEW = 1e-12

Sums: TypeAlias = NDArray[np.float64]
"""Sums over tasks: one column for each number of `_Columns`, one row for each resample."""
Calls: TypeAlias = tuple[tuple[str, bool], ...]
"""The compared calls of a pair: the tool, and whether both observations are the same."""
Share: TypeAlias = Callable[[Pair], tuple[float, float]]
"""Numerator and denominator of a pair."""


class _Ratio(NamedTuple):
    share: Share
    without: str
    """Why there is nothing to divide by."""
    counts: bool = True
    """Whether it is a share of something that is counted."""


def _scored(value: Callable[[Pair], float], among: Callable[[Pair], bool] = lambda pair: True) -> Share:
    return lambda pair: (value(pair), 1) if pair.scored and among(pair) else (0, 0)


def _tokens(pair: Pair) -> tuple[float, float]:
    left, right = pair.left.tokens, pair.right.tokens
    return (0, 0) if left is None and right is None else ((right or 0) - (left or 0), 1)


def _cost(pair: Pair) -> tuple[float, float]:
    if pair.left.tokens is None and pair.right.tokens is None:
        return 0, 0
    left, right = (0.0 if one.tokens is None else one.cost for one in (pair.left, pair.right))
    return (0, 0) if left is None or right is None else (right - left, 1)


_NO_CALL = "not applicable: no tool call was made alike on both sides"
_NO_STATE = "not applicable: there is no call whose changes both sides know"
_NO_SCORE = "not applicable: no pair has a reward on both sides"

RATIOS: Mapping[str, _Ratio] = {
    "observation": _Ratio(lambda pair: (pair.observation, pair.calls), _NO_CALL),
    "outcome": _Ratio(lambda pair: (pair.outcome, pair.calls), _NO_CALL),
    "error_code": _Ratio(lambda pair: (pair.error_code, pair.calls), _NO_CALL),
    "changes": _Ratio(lambda pair: (pair.changes, pair.stateful), _NO_STATE),
    "missed_writes": _Ratio(lambda pair: (pair.missed, pair.stateful), _NO_STATE),
    "spurious_writes": _Ratio(lambda pair: (pair.spurious, pair.stateful), _NO_STATE),
    "wrong_writes": _Ratio(lambda pair: (pair.wrong, pair.stateful), _NO_STATE),
    "final_state": _Ratio(
        lambda pair: (0, 0) if pair.final_state is None else (pair.final_state, 1),
        "not applicable: no pair has a state of its own on both sides",
    ),
    "user_reply": _Ratio(
        lambda pair: (pair.same_replies, pair.replies),
        "not applicable: no message was answered by a user on both sides",
    ),
    "same_episode": _Ratio(lambda pair: (pair.divergence is None, 1), "not applicable: there is no pair"),
    "reward": _Ratio(_scored(lambda pair: pair.left.reward == pair.right.reward), _NO_SCORE),
    "false_positives": _Ratio(
        _scored(lambda pair: pair.right.success, lambda pair: not pair.left.success),
        "undefined: every scored pair succeeds on the left side",
    ),
    "false_negatives": _Ratio(
        _scored(lambda pair: not pair.right.success, lambda pair: pair.left.success),
        "undefined: no scored pair succeeds on the left side",
    ),
    "turns": _Ratio(_scored(lambda pair: pair.right.turns - pair.left.turns), _NO_SCORE, counts=False),
    "tokens": _Ratio(_tokens, "not applicable: no model was asked", counts=False),
    "cost": _Ratio(_cost, "not applicable: no model was asked, or the prices of one are not given", counts=False),
}
"""Figures that are one sum over tasks divided by another one."""

_CELLS: tuple[Share, ...] = tuple(
    _scored(lambda pair, cell=cell: (pair.left.success, pair.right.success) == cell)  # type: ignore[misc]
    for cell in ((True, True), (True, False), (False, True), (False, False))
)


class Figures(NamedTuple):
    """All figures of a comparison."""

    figures: dict[str, Figure]
    tools: dict[str, Figure]
    policies: tuple[PolicyScore, ...]
    steps: dict[int, Figure]


class _Columns:
    """Sums of numbers by task, and by resample. Equal rows are kept once, because many tasks go alike."""

    def __init__(self, names: Sequence[str], rows: Iterable[Sums], seed: int) -> None:
        self.column = {name: place for place, name in enumerate(names)}
        seen, places = dict[bytes, int](), list[int]()
        for row in rows:
            places.append(seen.setdefault(row.tobytes(), len(seen)))
        found = np.frombuffer(b"".join(seen)).reshape(-1, len(names))
        self._rows, order = np.unique(found, axis=0, return_inverse=True)
        self._row = order.reshape(-1)[places]
        self._times = np.bincount(self._row)
        self.tasks = len(places)
        chance = np.random.default_rng(seed)
        # A resample depends only on how often each distinct row is drawn.
        shares = self._times / self.tasks
        drawn = [
            chance.multinomial(self.tasks, shares, size=_AT_ONCE) @ self._rows for _ in range(0, RESAMPLES, _AT_ONCE)
        ]
        self._drawn: Sums = np.concatenate(drawn)

    def of(self, name: str) -> Sums:
        """The sums of the tasks."""
        values: Sums = self._rows[self._row, self.column[name]]
        return values

    def sums(self, names: Sequence[str], *, drawn: bool) -> Sums:
        """The sums over all tasks, or those of each resample, one row each."""
        places = [self.column[name] for name in names]
        whole: Sums = self._drawn[:, places] if drawn else (self._times @ self._rows[:, places])[np.newaxis]
        return whole


def figures_of(pairs: Sequence[Pair], calls: Sequence[Calls], seed: int) -> Figures:
    """Compute all figures.

    Args:
        pairs: The pairs.
        calls: The calls of each pair.
        seed: Random seed of the bootstrap.
    """
    policies = [*dict.fromkeys(pair.policy for pair in pairs)]
    tools = dict.fromkeys(name for made in dict.fromkeys(calls) for _, name in _named(made))
    names = [f"{name}/{part}" for name in RATIOS for part in "nd"]
    names += [f"cell/{place}" for place in range(4)] + [f"tool/{tool}/{part}" for tool in tools for part in "nd"]
    names += [f"policy/{number}/{part}" for number in range(len(policies)) for part in "lrn"]
    columns = _Columns(names, _rows(names, pairs, calls, policies), seed)
    found = {name: _ratio(columns, name, ratio.without, ratio.counts) for name, ratio in RATIOS.items()}
    found["kappa"] = _kappa(columns)
    scores = tuple(_policy(columns, policy, number) for number, policy in enumerate(policies))
    found["policy_order"] = _order(columns, len(policies))
    found["largest_over_estimate"] = _over_estimate(scores)
    of_each = {tool: _ratio(columns, f"tool/{tool}", _NO_CALL, True) for tool in sorted(tools, key=str)}
    by_tool = {tool: one for tool, one in of_each.items() if isinstance(tool, str)}
    steps = {step: of_each[step] for step in sorted(step for step in of_each if isinstance(step, int))}
    return Figures(found, by_tool, scores, steps)


def _named(calls: Calls) -> Iterator[tuple[bool, str | int]]:
    """Whether each call agrees, by its tool and by its number in the episode."""
    for number, (tool, same) in enumerate(calls, start=1):
        yield same, tool
        yield same, min(number, MOST_STEPS)


def _rows(
    names: Sequence[str], pairs: Sequence[Pair], calls: Sequence[Calls], policies: Sequence[str]
) -> Iterator[Sums]:
    """The row of each task, one after the other in the order of their ids."""
    column = {name: place for place, name in enumerate(names)}
    number_of = {policy: number for number, policy in enumerate(policies)}
    shares = [(column[f"{name}/n"], ratio.share) for name, ratio in RATIOS.items()]
    cells = [(column[f"cell/{number}"], share) for number, share in enumerate(_CELLS)]
    order = sorted(range(len(pairs)), key=lambda place: pairs[place].task)
    for _, places in groupby(order, key=lambda place: pairs[place].task):
        row: Sums = np.zeros(len(names))
        for pair, made in ((pairs[place], calls[place]) for place in places):
            for at, share in shares:
                part, whole = share(pair)
                row[at] += part
                row[at + 1] += whole
            for same, name in _named(made):
                at = column[f"tool/{name}/n"]
                row[at] += same
                row[at + 1] += 1
            if pair.scored:
                for at, share in cells:
                    row[at] += share(pair)[0]
                at = column[f"policy/{number_of[pair.policy]}/l"]
                row[at : at + 3] += pair.left.reward or 0.0, pair.right.reward or 0.0, 1.0
        yield row


def _ratio(columns: _Columns, name: str, without: str, counts: bool) -> Figure:
    return _divided(columns, f"{name}/n", f"{name}/d", without, counts)


def _divided(columns: _Columns, above: str, below: str, without: str, counts: bool) -> Figure:
    """One sum divided by another one."""
    parts, wholes = columns.of(above), columns.of(below)
    known = wholes > 0
    n, tasks = int(wholes.sum()), int(known.sum())
    count = round(float(parts.sum())) if counts else None
    if not n:
        return Figure(None, None, 0, count, 0, "none", without)
    value = float(parts.sum() / n)
    if tasks < 2:
        return Figure(value, None, n, count, tasks, "none")
    if counts:
        of_each = parts[known] / wholes[known]
        if (wholes[known] == 1).all() or (of_each == 1).all() or (of_each == 0).all():
            return Figure(value, wilson(round(float(of_each.sum())), tasks), n, count, tasks, "wilson")
    drawn = columns.sums((above, below), drawn=True)
    drawn = drawn[drawn[:, 1] > 0]
    return Figure(value, _bounds(drawn[:, 0] / drawn[:, 1]), n, count, tasks, "bootstrap")


def _bounds(values: Any) -> tuple[float, float] | None:
    """The 95% percentile interval of resampled values, without those that are undefined."""
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    low, high = np.quantile(values, (_LOW, _HIGH))
    return float(low), float(high)


def _kappa(columns: _Columns) -> Figure:
    """Cohen's kappa of success on both sides."""

    def kappa(sums: Sums) -> Sums:
        both, left, right, neither = (sums[:, place] for place in range(4))
        total = both + left + right + neither
        with np.errstate(invalid="ignore", divide="ignore"):
            agreed = (both + neither) / total
            chance = ((both + left) * (both + right) + (neither + left) * (neither + right)) / total**2
            found: Sums = np.where(1 - chance > _FEW, (agreed - chance) / (1 - chance), np.nan)
        return found

    names = [f"cell/{place}" for place in range(4)]
    sums = columns.sums(names, drawn=False)
    n, tasks = int(sums.sum()), int(np.count_nonzero(sum(columns.of(name) for name in names)))
    if not n:
        return Figure(None, None, 0, None, 0, "none", _NO_SCORE)
    value = float(kappa(sums)[0])
    if math.isnan(value):
        without = "undefined: both sides give every episode the same result"
        return Figure(None, None, n, None, tasks, "none", without)
    if tasks < 2:
        return Figure(value, None, n, None, tasks, "none")
    return Figure(value, _bounds(kappa(columns.sums(names, drawn=True))), n, None, tasks, "bootstrap")


def _policy(columns: _Columns, policy: str, number: int) -> PolicyScore:
    left, right, n = (f"policy/{number}/{part}" for part in "lrn")
    both = [_divided(columns, name, n, _NO_SCORE, False) for name in (left, right)]
    first, second = (one.value for one in both)
    if first is None or second is None:
        return PolicyScore(policy, both[0], both[1], both[0])
    bounds = None
    if both[0].tasks > 1:
        drawn = columns.sums((left, right, n), drawn=True)
        drawn = drawn[drawn[:, 2] > 0]
        bounds = _bounds((drawn[:, 1] - drawn[:, 0]) / drawn[:, 2])
    method = "none" if bounds is None else "bootstrap"
    difference = Figure(second - first, bounds, both[0].n, None, both[0].tasks, method)
    return PolicyScore(policy, both[0], both[1], difference)


def _order(columns: _Columns, policies: int) -> Figure:
    """Kendall's tau-b between the mean rewards of the policies on both sides."""
    scored = [number for number in range(policies) if columns.of(f"policy/{number}/n").sum() > 0]
    tasks = columns.tasks
    if len(scored) < 2:
        why = "not applicable: an order needs two policies with rewards"
        return Figure(None, None, len(scored), None, tasks, "none", why)
    names = [f"policy/{number}/{part}" for number in scored for part in "lrn"]

    def tau(sums: Sums) -> Sums:
        with np.errstate(invalid="ignore", divide="ignore"):
            means = [
                [sums[:, 3 * place + side] / sums[:, 3 * place + 2] for place in range(len(scored))] for side in (0, 1)
            ]
            order = [
                np.stack([_sign(side[one] - side[two]) for one, two in combinations(range(len(scored)), 2)])
                for side in means
            ]
            spread = np.sqrt((order[0] ** 2).sum(axis=0) * (order[1] ** 2).sum(axis=0))
            found: Sums = np.where(spread > 0, (order[0] * order[1]).sum(axis=0) / spread, np.nan)
        return found

    value = float(tau(columns.sums(names, drawn=False))[0])
    if math.isnan(value):
        why = "undefined: all policies have the same reward on one side"
        return Figure(None, None, len(scored), None, tasks, "none", why)
    bounds = _bounds(tau(columns.sums(names, drawn=True))) if tasks > 1 else None
    return Figure(value, bounds, len(scored), None, tasks, "none" if bounds is None else "bootstrap")


def _sign(values: Sums) -> Sums:
    found: Sums = np.where(np.isnan(values), np.nan, np.sign(np.where(np.abs(values) > _FEW, values, 0.0)))
    return found


def _over_estimate(scores: Sequence[PolicyScore]) -> Figure:
    """The difference of the policy whose reward the right side over-estimates most."""
    known = [one for one in scores if one.difference.value is not None]
    if not known:
        return Figure(None, None, 0, None, 0, "none", _NO_SCORE)
    return max(known, key=lambda one: one.difference.value or 0.0).difference
