"""Draws the results: success over GRPO's steps, and on test tasks before and after."""

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
        decoding: Name of the evaluation to show.
    """
    runs = results["runs"]
    domains = sorted({run["domain"] for run in runs})
    figure = Figure(figsize=(9, 3.4 * len(domains)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(domains), 2, squeeze=False, gridspec_kw={"width_ratios": (3, 2)})
    for (curve, bars), domain in zip(axes, domains, strict=True):
        mine = [run for run in runs if run["domain"] == domain]
        for number, run in enumerate(mine):
            color = _COLORS[number % len(_COLORS)]
            points = [(line["step"], line["success"]) for line in run["result"]["curve"] if line["success"] is not None]
            if points:
                name = f"seed {run['seed']}" + (", through models" if run["world"] == "models" else "")
                curve.plot(*zip(*points, strict=True), color=color, linewidth=0.8, alpha=0.4)
                curve.plot(*zip(*_means(points), strict=True), color=color, linewidth=2, label=name)
            scores = run["result"][decoding]
            width = 0.8 / len(mine)
            for place, (stage, _) in enumerate(_STAGES):
                found = scores.get(stage, {}).get("success")
                if found is None:
                    bars.text(place, 2, "not run", ha="center", fontsize=8, color="grey")
                    continue
                low, high = (100 * bound for bound in found["interval"] or (found["value"], found["value"]))
                value = 100 * found["value"]
                where = place + (number - (len(mine) - 1) / 2) * width
                bars.bar(where, value, width * 0.9, color=color)
                bars.errorbar(where, value, yerr=[[value - low], [high - value]], color="black", capsize=3)
        curve.set_title(f"{domain}: success in GRPO's episodes, and mean of {_WINDOW} steps", fontsize=10)
        curve.set_xlabel("step")
        curve.set_ylim(0, 1)
        curve.grid(alpha=0.3)
        curve.legend(frameon=False)
        bars.set_title(f"{domain}: unseen test tasks, %, {decoding}", fontsize=10)
        bars.set_xticks(range(len(_STAGES)), [label for _, label in _STAGES])
        bars.set_xlim(-0.6, len(_STAGES) - 0.4)
        bars.set_ylim(0, 100)
        bars.grid(alpha=0.3, axis="y")
    figure.savefig(path, dpi=120)


def _means(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Moving average over steps, since each step has few tasks, some harder than others."""
    values = [value for _, value in points]
    return [(step, fmean(values[max(0, at + 1 - _WINDOW) : at + 1])) for at, (step, _) in enumerate(points)]
