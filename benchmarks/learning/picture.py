"""Draws the results: success over GRPO's steps; success and mean reward on test tasks before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

_COLORS = ("#4c72b0", "#dd8452", "#55a868", "#c44e52")
_WINDOW = 5
_STAGES = (("start", "random\nweights"), ("sft", "after\nSFT"), ("grpo", "after\nGRPO"))


def draw(results: Mapping[str, Any], path: Path, *, decoding: str = "sampled") -> None:
    """Draw the results.

    Args:
        results: The results file.
        path: The picture.
        decoding: Name of the evaluation whose success is shown. Mean rewards are those of greedy decoding.
    """
    runs = results["runs"]
    domains = sorted({run["domain"] for run in runs})
    figure = Figure(figsize=(12, 3.4 * len(domains)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(domains), 3, squeeze=False, gridspec_kw={"width_ratios": (3, 2, 2)})
    for (curve, success, reward), domain in zip(axes, domains, strict=True):
        mine = [run for run in runs if run["domain"] == domain]
        for number, run in enumerate(mine):
            color = _COLORS[number % len(_COLORS)]
            points = [(line["step"], line["success"]) for line in run["result"]["curve"] if line["success"] is not None]
            if points:
                name = f"seed {run['seed']}" + (", through models" if run["world"] == "models" else "")
                curve.plot(*zip(*points, strict=True), color=color, linewidth=0.8, alpha=0.4)
                curve.plot(*zip(*_means(points), strict=True), color=color, linewidth=2, label=name)
        curve.set_title(f"{domain}: success in GRPO's episodes, and mean of {_WINDOW} steps", fontsize=10)
        curve.set_xlabel("step")
        curve.set_ylim(0, 1)
        curve.grid(alpha=0.3)
        curve.legend(frameon=False)
        _bars(success, mine, "success", decoding)
        _bars(reward, mine, "reward", "greedy")
        success.set_title(f"{domain}: success on test, {decoding}", fontsize=10)
        reward.set_title(f"{domain}: mean reward on test, greedy", fontsize=10)
    figure.savefig(path, dpi=120)


def _bars(axis: Any, runs: Sequence[Mapping[str, Any]], measure: str, decoding: str) -> None:
    """Draw one score of the test tasks for each stage and run, with its interval."""
    width = 0.8 / len(runs)
    for place, (stage, _) in enumerate(_STAGES):
        for number, run in enumerate(runs):
            found = run["result"][decoding].get(stage, {}).get(measure)
            if found is None:
                axis.text(place, 0.02, "not run", ha="center", fontsize=8, color="grey")
                continue
            value = found["value"]
            low, high = found["interval"] or (value, value)
            where = place + (number - (len(runs) - 1) / 2) * width
            axis.bar(where, value, width * 0.9, color=_COLORS[number % len(_COLORS)])
            axis.errorbar(where, value, yerr=[[value - low], [high - value]], color="black", capsize=3)
    axis.set_xticks(range(len(_STAGES)), [label for _, label in _STAGES])
    axis.set_xlim(-0.6, len(_STAGES) - 0.4)
    axis.set_ylim(0, 1)
    axis.grid(alpha=0.3, axis="y")


def _means(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Moving average over steps, since each step has few tasks, some harder than others."""
    values = [value for _, value in points]
    return [(step, fmean(values[max(0, at + 1 - _WINDOW) : at + 1])) for at, (step, _) in enumerate(points)]
