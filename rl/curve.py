"""Learning curves as pictures: metrics of a training over its steps, with those of its validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from simia_gym.rl.extras import require

Points = Sequence[tuple[float, float]]
"""Steps and values."""


def draw_curve(panels: Mapping[str, tuple[Points, Points]], path: Path, *, title: str = "") -> None:
    """Draw metrics, one below the other.

    Args:
        panels: For each metric, by its name and unit, the values on training tasks and on validation tasks.
        path: The picture: ``.png``, ``.svg`` or ``.pdf``.
        title: Title of the picture.

    Raises:
        InputError: matplotlib is not installed.
    """
    require("rl", "matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 0.5 + 2.0 * len(panels)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(panels), 1, sharex=True)
    for axis, (label, (training, validation)) in zip(axes, panels.items(), strict=True):
        axis.plot(*_columns(training), marker="." if len(training) < 60 else "", label="training tasks")
        if validation:
            axis.plot(*_columns(validation), marker="o", linestyle="--", label="validation tasks")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
        if all(0 <= value <= 1 for _, value in (*training, *validation)):  # shares
            axis.set_ylim(-0.03, 1.03)
    axes[0].legend(loc="best", frameon=False)
    axes[-1].set_xlabel("step")
    axes[-1].xaxis.get_major_locator().set_params(integer=True)
    figure.suptitle(title)
    beside = path.with_name(f".new-{path.name}")
    figure.savefig(beside, dpi=120)
    beside.replace(path)


def _columns(points: Points) -> tuple[list[float], list[float]]:
    return [step for step, _ in points], [value for _, value in points]
