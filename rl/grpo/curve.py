"""The learning curve as a picture: reward, success and the share of valid episodes over the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simia_gym.rl.extras import require

_PANELS = (("reward", "mean reward"), ("success", "success"), ("valid_share", "valid episodes"))
_TRAIN, _VAL = "#4c72b0", "#dd8452"


def draw_curve(lines: Sequence[Mapping[str, Any]], path: Path, *, title: str = "") -> None:
    """Draw the learning curve.

    Args:
        lines: Lines of ``metrics.jsonl``.
        path: The picture: ``.png``, ``.svg`` or ``.pdf``.
        title: Title of the picture.

    Raises:
        InputError: matplotlib is not installed.
    """
    require("rl", "matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 6.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(_PANELS), 1, sharex=True)
    for axis, (name, label) in zip(axes, _PANELS, strict=True):
        steps, values = points(lines, "train", name)
        axis.plot(steps, values, color=_TRAIN, marker="." if len(steps) < 60 else "", label="training tasks")
        steps, values = points(lines, "val", name)
        if steps:
            axis.plot(steps, values, color=_VAL, marker="o", linestyle="--", label="validation tasks")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
        if name != "reward":
            axis.set_ylim(-0.03, 1.03)
    axes[0].legend(loc="best", frameon=False)
    axes[-1].set_xlabel("step")
    axes[-1].xaxis.get_major_locator().set_params(integer=True)
    if title:
        figure.suptitle(title)
    beside = path.with_name(f".new-{path.name}")
    figure.savefig(beside, dpi=120)
    beside.replace(path)


def points(lines: Sequence[Mapping[str, Any]], purpose: str, name: str) -> tuple[list[int], list[float]]:
    """Steps and values of one metric; a step without a valid episode has no value."""
    found = [(line["step"], line[purpose].get(name)) for line in lines if purpose in line]
    kept = [(int(step), float(value)) for step, value in found if value is not None]
    return [step for step, _ in kept], [value for _, value in kept]
