"""Renders the report of `simia evaluate` for the terminal."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from simia_gym.common.fitting_table import FittingTable
from simia_gym.common.formatting import NONE, counted, interval, number, percent
from simia_gym.common.json_encoding import encode
from simia_gym.evaluation.health import health_lines
from simia_gym.rollout.summary import group_rows
from simia_gym.types import JsonObject

_NAMES = {"wilson": "Wilson", "bootstrap": "bootstrap", "agresti-min": "Agresti-Min"}


def score_parts(report: JsonObject, *, faults: bool = True) -> Iterator[RenderableType]:
    """The tables and lines that show a `Report`; ``faults``: whether to include the line on invalid episodes."""
    series = report["series"]
    for one in series:
        words = (one["env"].removeprefix("simia/"), one["label"], one["split"], f"prompt {one['prompt']}")
        title = " · ".join((*words, f"simulator {one['simulator']}"))
        rows = [*one["kinds"].items(), *group_rows(one.get("groups", {})), ("all", one)]
        yield _scores(title, "task kind", rows, total=True)
        if len(one["pass_hat_k"]) > 1:
            yield _by_k(one)
        yield from map(Text, _lines(one, faults=faults))
    if len(series) > 1:
        prompts = len({one["prompt"] for one in series}) > 1
        labels = [one["label"] + (f", prompt {one['prompt']}" if prompts else "") for one in series]
        yield _scores("side by side", "policy", list(zip(labels, series, strict=True)))
        yield _differences(report["pairs"])
        yield from map(Text, _pair_lines(report["pairs"]))
    yield Text(_method_line(report))


def _scores(title: str, label: str, rows: Sequence[tuple[str, JsonObject]], *, total: bool = False) -> FittingTable:
    most = str(max((int(k) for _, scores in rows for k in scores["pass_hat_k"]), default=1))
    none: JsonObject = {"value": None}
    less = ("trials", f"pass@{most}", "turns", "reward", "two runs")
    table = FittingTable(label, title=title, dispensable=less, total=total)
    for name, scores in rows:
        first = scores["pass_at_1"]
        cells = {"tasks": str(scores["tasks"]), "trials": str(scores["valid"])}
        cells |= {"pass@1": percent(first["value"]), "95% CI": interval(first["interval"])}
        chance = scores["two_runs"]["pass_at_1"]["value"]
        cells["two runs"] = NONE if chance is None else f"±{100 * chance:.1f}"
        if most != "1":
            cells[f"pass^{most}"] = percent(scores["pass_hat_k"].get(most, none)["value"])
            cells[f"pass@{most}"] = percent(scores["pass_at_k"].get(most, none)["value"])
        cells["reward"] = number(scores["mean_reward"]["value"], 3)
        table.add(name, cells | {"turns": number(scores["mean_turns"]["value"], 1)})
    return table


def _by_k(one: JsonObject) -> FittingTable:
    table = FittingTable("k", title="by number of trials", dispensable=("tasks left out",))
    short = one["tasks_with_fewer_valid_trials_than_k"]
    for k, hat in one["pass_hat_k"].items():
        at = one["pass_at_k"][k]
        cells = {"pass^k": percent(hat["value"]), "95% CI": interval(hat["interval"])}
        cells |= {"pass@k": percent(at["value"]), "its 95% CI": interval(at["interval"])}
        table.add(k, cells | ({"tasks left out": str(short.get(k, 0))} if short else {}))
    return table


def _lines(one: JsonObject, *, faults: bool) -> Iterator[str]:
    reward = one["mean_reward"]
    bounds = " to ".join(number(bound, 3) for bound in reward["interval"] or ())
    yield f"mean reward {number(reward['value'], 3)}" + (f" (95% CI {bounds})" if bounds else "")
    if chance := _chance(one):
        yield chance
    if one["invalid"] and faults:
        kinds = ", ".join(f"{name} x {count}" for name, count in one["faults"].items())
        be = "is invalid and counts" if one["invalid"] == 1 else "are invalid and count"
        yield f"{one['invalid']} of {counted(one['episodes'], 'episode')} {be} in no score: {kinds}"
    short = one["tasks_with_fewer_valid_trials_than_k"]
    if short:
        most = max(short, key=int)
        least = counted(int(most), "valid trial")
        yield f"{short[most]} of {counted(one['tasks'], 'task')} left out at k = {most}: fewer than {least}"
    if health := one["health"]:
        yield "health of these episodes:"
        yield from (f"  {line}" for line in health_lines(health))
        if one["source"]:
            example = next(iter(health.values()))["example"]
            words = ("simia", "show", one["source"], example["task"], "--member", str(example["member"]))
            yield f"  to read one: {shlex.join(words)}"


def _chance(one: JsonObject) -> str:
    """By how much two single runs differ by chance, and from what this is known; empty if it is not."""
    rate, reward = (one["two_runs"][name] for name in ("pass_at_1", "mean_reward"))
    if rate["value"] is None:
        return ""
    known = {
        "trials": "from the trials of each task",
        "interval": "from the interval over tasks, so at most that; --trials 2 tells it better",
    }
    points = f"{100 * rate['value']:.1f} points of pass@1 and {number(reward['value'], 3)} of the mean reward"
    return f"two single runs differ by chance by up to {points} (95%; {known[rate['from']]})"


def _differences(pairs: list[JsonObject]) -> FittingTable:
    table = FittingTable(
        "second - first", title="differences on the same tasks", dispensable=("reward CI", "reward", "tasks")
    )
    columns = (("pass@1, points", "95% CI", "pass_at_1", 100, 1), ("reward", "reward CI", "mean_reward", 1, 3))
    for pair in pairs:
        cells = {"tasks": str(pair["tasks"])}
        for heading, its_interval, key, scale, digits in columns:
            value, bounds = pair[key]["value"], pair[key]["interval"]
            cells[heading] = NONE if value is None else f"{scale * value:+.{digits}f}"
            cells[its_interval] = " to ".join(f"{scale * bound:+.{digits}f}" for bound in bounds or ()) or NONE
        table.add(f"{pair['second']} - {pair['first']}", cells)
    return table


def _pair_lines(pairs: list[JsonObject]) -> Iterator[str]:
    for pair in pairs:
        name = f"{pair['second']} - {pair['first']}"
        if pair["only_first"] or pair["only_second"]:
            yield f"{name}: tasks that only the first has {pair['only_first']}, only the second {pair['only_second']}"
        if not pair["same_domain"]:
            yield f"{name}: the domains differ; a task of the same name may be another one"


def _method_line(report: JsonObject) -> str:
    methods = set(re.findall(rb'"method":"([\w-]+)"', encode(report)))
    used = sorted(_NAMES[name.decode()] for name in methods - {b"none"})
    drawn = report["bootstrap"]
    how = f" ({drawn['resamples']:,} draws, seed {drawn['seed']})"
    words = ", ".join(f"{name}{how}" if name == "bootstrap" else name for name in used)
    return f"95% intervals are over tasks: {words}" if used else "too few tasks for intervals"
