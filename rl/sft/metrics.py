"""Metrics of a run: one JSON line for each measurement, and the learning curve."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

METRICS = "metrics.jsonl"
CURVE = "curve.png"


def write_line(folder: Path, line: Mapping[str, Any]) -> None:
    """Append a line to a run's metrics."""
    with (folder / METRICS).open("ab") as file:
        file.write(orjson.dumps(dict(line), option=orjson.OPT_APPEND_NEWLINE))


def read_lines(folder: Path) -> list[dict[str, Any]]:
    """Read the metrics of a run; an incomplete last line is skipped."""
    path = folder / METRICS
    if not path.is_file():
        return []
    lines = [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    return [orjson.loads(line) for line in lines]


def forget_after(folder: Path, step: int) -> float:
    """Remove the metrics after the checkpoint from which a run resumes.

    Args:
        folder: The run's folder.
        step: The step of the checkpoint; -1 removes all metrics.

    Returns:
        Seconds that the run had taken until the checkpoint.
    """
    kept = [line for line in read_lines(folder) if line["step"] <= step]
    (folder / METRICS).write_bytes(b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in kept))
    return float(kept[-1].get("seconds", 0.0)) if kept else 0.0


def draw(folder: Path, title: str) -> Path | None:
    """Draw loss and accuracy over the steps.

    Args:
        folder: The run's folder.
        title: Title of the picture.

    Returns:
        The picture; ``None`` if there are no metrics or matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return None
    lines = read_lines(folder)
    if not lines:
        return None
    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2)
    for panel, learned, evaluated, label in (
        (panels[0], "loss", "eval_loss", "loss (nats per token)"),
        (panels[1], "mean_token_accuracy", "eval_mean_token_accuracy", "accuracy on the policy's tokens"),
    ):
        for name, style, legend in ((learned, "-", "training"), (evaluated, "o-", "held out")):
            points = [(line["step"], line[name]) for line in lines if name in line]
            if points:
                panel.plot(*zip(*points, strict=True), style, label=legend, markersize=3, linewidth=1.2)
        panel.set_xlabel("step")
        panel.set_ylabel(label)
        panel.grid(alpha=0.3)
        panel.legend(frameon=False)
    panels[0].set_ylim(bottom=0)
    panels[1].set_ylim(0, 1)
    figure.suptitle(title, fontsize=10)
    figure.savefig(folder / CURVE, dpi=130)
    return folder / CURVE
