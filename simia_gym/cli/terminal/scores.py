"""How scores look in a terminal: by kind of task, policies side by side, and what they differ by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from simia_gym.cli.terminal.output import counted, number, percent
from simia_gym.types import JsonObject

_MOST_KS = 4
_NAMES = {"wilson": "Wilson", "bootstrap": "bootstrap", "agresti-min": "Agresti-Min"}


def score_parts(report: JsonObject, *, faults: bool = True) -> Iterator[RenderableType]:
    """Everything that a terminal shows of a report.

    Args:
        report: The JSON of `simia_gym.evaluation.report.make_report`.
        faults: Whether to say which episodes are invalid.
    """
    series = report["series"]
    for one in series:
        yield _kinds_table(one)
        yield from map(Text, _lines(one, faults=faults))
    if len(series) > 1:
        yield _side_by_side(series)
        yield _differences(report["pairs"])
        yield from map(Text, _pair_lines(report["pairs"]))
    yield Text(_method_line(report))


def _kinds_table(one: JsonObject) -> Table:
    name = one["env"].removeprefix("simia/")
    words = (name, one["label"], one["split"], f"prompt {one['prompt']}", f"simulator {one['simulator']}")
    table = Table(title=" · ".join(words), title_justify="left", title_style="bold")
    table.add_column("task kind", overflow="fold")
    most = max(map(int, one["pass_hat_k"]), default=1)
    names = ["tasks", "valid trials", "pass@1", "95% interval"]
    names += [f"pass^{most}", f"pass@{most}"] if most > 1 else []
    for name in (*names, "reward", "turns"):
        table.add_column(name, justify="right", no_wrap=True)
    for kind, scores in one["kinds"].items():
        table.add_row(kind, *_cells(scores, most))
    table.add_section()
    table.add_row("all", *_cells(one, most), style="bold")
    return table


def _cells(scores: JsonObject, most: int) -> list[str]:
    first = scores["pass_at_1"]
    cells = [str(scores["tasks"]), str(scores["valid"]), percent(first["value"]), interval(first)]
    if most > 1:
        cells += [percent(scores[name][str(most)]["value"]) for name in ("pass_hat_k", "pass_at_k")]
    return [*cells, number(scores["mean_reward"]["value"], 3), number(scores["mean_turns"]["value"], 1)]


def _lines(one: JsonObject, *, faults: bool) -> Iterator[str]:
    hat = one["pass_hat_k"]
    if len(hat) > 1:
        ks = [k for k in hat if int(k) <= _MOST_KS or int(k) == max(map(int, hat))]
        yield ", ".join(f"pass^{k} {percent(hat[k]['value'])} ({interval(hat[k])})" for k in ks)
    reward = one["mean_reward"]
    yield f"mean reward {number(reward['value'], 3)} ({interval(reward, share=False)})"
    if one["invalid"] and faults:
        kinds = ", ".join(f"{name} x {count}" for name, count in one["faults"].items())
        be = "is invalid and counts" if one["invalid"] == 1 else "are invalid and count"
        yield f"{one['invalid']} of {counted(one['episodes'], 'episode')} {be} in no score: {kinds}"
    short = one["tasks_with_fewer_valid_trials_than_k"]
    for k, tasks in short.items():
        if k in ("1", str(max(map(int, short)))):
            left = f"{counted(tasks, 'task')} of {one['tasks']} left out"
            yield f"pass^{k}, pass@{k}: {left}, with fewer than {counted(int(k), 'valid trial')}"


def _side_by_side(series: list[JsonObject]) -> Table:
    table = Table(title="side by side", title_justify="left", title_style="bold")
    table.add_column("policy", overflow="fold")
    most = max(max(map(int, one["pass_hat_k"]), default=1) for one in series)
    names = ["prompt", "tasks", "valid trials", "pass@1", "95% interval"]
    names += [f"pass^{most}", f"pass@{most}"] if most > 1 else []
    for name in (*names, "reward", "turns"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in series:
        none: JsonObject = {"value": None}
        hat = {**one["pass_hat_k"], str(most): one["pass_hat_k"].get(str(most), none)}
        at = {**one["pass_at_k"], str(most): one["pass_at_k"].get(str(most), none)}
        table.add_row(one["label"], one["prompt"], *_cells({**one, "pass_hat_k": hat, "pass_at_k": at}, most))
    return table


def _differences(pairs: list[JsonObject]) -> Table:
    table = Table(title="differences on the same tasks", title_justify="left", title_style="bold")
    table.add_column("second - first", overflow="fold")
    for name in ("tasks", "pass@1, points", "95% interval", "reward", "95% interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for pair in pairs:
        points, reward = pair["pass_at_1"], pair["mean_reward"]
        table.add_row(
            f"{pair['second']} - {pair['first']}",
            str(pair["tasks"]),
            _signed(points["value"], 100, 1),
            _signed_interval(points, 100, 1),
            _signed(reward["value"], 1, 3),
            _signed_interval(reward, 1, 3),
        )
    return table


def _pair_lines(pairs: list[JsonObject]) -> Iterator[str]:
    for pair in pairs:
        name = f"{pair['second']} - {pair['first']}"
        if pair["only_first"] or pair["only_second"]:
            yield f"{name}: tasks that only the first has {pair['only_first']}, only the second {pair['only_second']}"
        if not pair["same_domain"]:
            yield f"{name}: the domains differ; a task of the same name may be another one"


def _method_line(report: JsonObject) -> str:
    used = sorted({_NAMES[name] for name in _methods(report) if name in _NAMES})
    drawn = report["bootstrap"]
    how = f" ({drawn['resamples']:,} draws, seed {drawn['seed']})"
    words = ", ".join(f"{name}{how}" if name == "bootstrap" else name for name in used)
    return f"95% intervals are over tasks: {words}" if used else "too few tasks for intervals"


def _methods(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("method"), str):
            yield value["method"]
        for item in value.values():
            yield from _methods(item)
    elif isinstance(value, list):
        for item in value:
            yield from _methods(item)


def interval(estimate: JsonObject, *, share: bool = True) -> str:
    """An interval for people, or a dash."""
    bounds = estimate["interval"]
    if bounds is None:
        return "–"
    low, high = bounds
    return f"{100 * low:.1f}–{100 * high:.1f}%" if share else f"{low:.3f}–{high:.3f}"


def _signed(value: float | None, scale: float, digits: int) -> str:
    return "–" if value is None else f"{scale * value:+.{digits}f}"


def _signed_interval(estimate: JsonObject, scale: float, digits: int) -> str:
    bounds = estimate["interval"]
    return "–" if bounds is None else " to ".join(_signed(bound, scale, digits) for bound in bounds)
