"""Reports of scores: per policy, per kind of task, and differences between policies on the same tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from simia_gym.common.frames import data_frame
from simia_gym.common.notebook import as_html, as_text
from simia_gym.evaluation.comparing.pairing import pair_up
from simia_gym.evaluation.intervals import RESAMPLES, mean_difference, mean_over_tasks, two_runs
from simia_gym.evaluation.passk import pass_at_k, pass_hat_k
from simia_gym.evaluation.score_tables import score_parts
from simia_gym.evaluation.trials import Series, TaskTrials
from simia_gym.types import JsonObject

if TYPE_CHECKING:
    import pandas

VERSION = 1
MARK = "simia evaluate"
_ALL_UP_TO = 8
_SQUARES = {"pass_at_1": "success_squares", "mean_reward": "reward_squares", "mean_turns": "turns_squares"}


class Report(dict[str, Any]):
    """The scores of policies, as printed by ``simia evaluate --json``; `str` gives a table.

    ``series`` holds the scores of each policy; ``pairs`` holds the differences between each further policy and the
    first, on the same tasks. Only valid trials count, and each task has the same weight.

    Attributes:
        episodes: The result of each episode that `simia_gym.evaluate` played or kept, by task and member: task, kind,
            split, member, seed, valid, success, reward, score, turns, ended, fault. Empty for a report of records.
    """

    episodes: tuple[JsonObject, ...] = ()

    def to_pandas(self) -> pandas.DataFrame:
        """The results of the episodes as a table, one row each.

        Raises:
            InputError: pandas is not installed.
        """
        return data_frame(self.episodes, "the list episodes")

    def __str__(self) -> str:
        """The report as plain-text tables."""
        return as_text(score_parts(self))

    def _repr_html_(self) -> str:
        """The report in a notebook."""
        return as_html(score_parts(self))


def make_report(series: Sequence[Series], *, seed: int = 0, run: JsonObject | None = None) -> Report:
    """Score series of trials and compare each further one with the first.

    Args:
        series: The trials of each policy.
        seed: Random seed of the bootstrap.
        run: Facts about the run that played the episodes, such as cost and duration; ``None`` for recorded episodes.
    """
    return Report(
        made_by=MARK,
        v=VERSION,
        confidence=0.95,
        bootstrap={"seed": seed, "resamples": RESAMPLES},
        series=[_scores_of(one, seed) for one in series],
        pairs=[_pair(series[0], other, seed) for other in series[1:]],
        **({} if run is None else {"run": run}),
    )


def listed_ks(most: int) -> list[int]:
    """The values of k to report: all up to 8, then powers of two, and the largest number of trials of a task itself."""
    ks = [k for k in range(1, most + 1) if k <= _ALL_UP_TO or k & (k - 1) == 0]
    return ks if not most or most in ks else [*ks, most]


def _scores_of(series: Series, seed: int) -> JsonObject:
    config = series.config
    kinds: dict[str, list[TaskTrials]] = {}
    for trials in series.tasks.values():
        kinds.setdefault(trials.kind, []).append(trials)
    groups: dict[str, dict[str, list[TaskTrials]]] = {}
    for trials in series.tasks.values():
        for name, value in trials.groups.items():
            groups.setdefault(name, {}).setdefault(value, []).append(trials)
    models: JsonObject = {
        name: config[name] for name in ("model", "roles", "user", "judge", "strategy", "feedback") if name in config
    }
    ks = listed_ks(series.most_trials)
    return {
        "label": series.label,
        "source": series.source,
        "env": config["env"],
        "policy": series.policy,
        "split": config.get("split", "train"),
        "generated": config.get("generated", 0),
        "prompt": config.get("prompt", "full"),
        "simulator": config.get("simulator", "world"),
        **models,
        "seed": series.seed,
        "domain_hash": sorted(series.domain_hashes),
        "faults": dict(sorted(series.faults.items())),
        "health": series.health.to_json(),
        **_scores(list(series.tasks.values()), ks, seed),
        "kinds": {kind: _scores(trials, ks, seed) for kind, trials in sorted(kinds.items())},
        **({"groups": {name: _by_value(values, ks, seed) for name, values in groups.items()}} if groups else {}),
    }


def _by_value(values: dict[str, list[TaskTrials]], ks: Sequence[int], seed: int) -> JsonObject:
    return {value: _scores(trials, ks, seed) for value, trials in sorted(values.items())}


def _scores(tasks: Sequence[TaskTrials], ks: Iterable[int], seed: int) -> JsonObject:
    hat: JsonObject = {}
    at: JsonObject = {}
    left_out: JsonObject = {}
    for k in ks:
        enough = [one for one in tasks if one.valid >= k]
        for out, estimate in ((hat, pass_hat_k), (at, pass_at_k)):
            values = [estimate(one.valid, one.successes, k) for one in enough]
            out[str(k)] = mean_over_tasks(values, seed=seed)
        if len(enough) < len(tasks):
            left_out[str(k)] = len(tasks) - len(enough)
    valid = [one for one in tasks if one.valid]
    scores: JsonObject = {
        "pass_at_1": mean_over_tasks([one.successes / one.valid for one in valid], seed=seed),
        "mean_reward": mean_over_tasks([one.reward / one.valid for one in valid], seed=seed),
        "mean_turns": mean_over_tasks([one.turns / one.valid for one in valid], shares=False, seed=seed),
    }
    squares = {name: [(one.valid, getattr(one, each)) for one in valid] for name, each in _SQUARES.items()}
    return {
        "tasks": len(tasks),
        "episodes": sum(one.episodes for one in tasks),
        "valid": sum(one.valid for one in tasks),
        "invalid": sum(one.invalid for one in tasks),
        "length": sum(one.cut_off for one in tasks),
        "context_overflows": sum(one.overflows for one in tasks),
        "invented_observations": sum(one.invented for one in tasks),
        "pass_at_1": scores["pass_at_1"],
        "pass_hat_k": hat,
        "pass_at_k": at,
        "tasks_with_fewer_valid_trials_than_k": left_out,
        "mean_reward": scores["mean_reward"],
        "mean_turns": scores["mean_turns"],
        "two_runs": {name: two_runs(trials, scores[name]) for name, trials in squares.items()},
    }


def _pair(first: Series, second: Series, seed: int) -> JsonObject:
    """The second series' scores minus the first's, over the tasks of which both have valid trials."""
    in_first, in_second = ({task: one for task, one in each.tasks.items() if one.valid} for each in (first, second))
    same = first.config["env"] == second.config["env"]
    pairing = pair_up(in_first, in_second if same else ())
    both = pairing.both
    out: JsonObject = {
        "first": first.label,
        "second": second.label,
        "tasks": len(both),
        "only_first": pairing.only_first,
        "only_second": len(in_second) - len(both),
        "same_domain": first.domain_hashes == second.domain_hashes,
    }

    def difference(value: Callable[[TaskTrials], float], least: int = 1) -> JsonObject:
        tasks = [task for task in both if min(in_first[task].valid, in_second[task].valid) >= least]
        columns = [[value(each[task]) for task in tasks] for each in (in_first, in_second)]
        return mean_difference(*columns, seed=seed)

    def hat(k: int) -> JsonObject:
        return difference(lambda one: pass_hat_k(one.valid, one.successes, k), k)

    out["pass_at_1"] = difference(lambda one: one.successes / one.valid)
    out["mean_reward"] = difference(lambda one: one.reward / one.valid)
    most = min(first.most_trials, second.most_trials)
    return {**out, "pass_hat_k": {str(k): hat(k) for k in listed_ks(most)}}
