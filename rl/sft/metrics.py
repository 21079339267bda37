"""Metrics of a run: one JSON line for each measurement, and the learning curve."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from simia_gym.rl.curve import Points, draw_curve
from simia_gym.rl.verl_run.log import Tail

METRICS = "metrics.jsonl"
CURVE = "curve.png"


def write_line(folder: Path, line: Mapping[str, Any]) -> None:
    """Append a line to a run's metrics."""
    with (folder / METRICS).open("ab") as file:
        file.write(orjson.dumps(dict(line), option=orjson.OPT_APPEND_NEWLINE))


def read_lines(folder: Path) -> list[dict[str, Any]]:
    """Read the metrics of a run; an incomplete last line is skipped."""
    return [orjson.loads(line) for line in Tail(folder / METRICS).lines()]


def forget_after(folder: Path, step: int) -> float:
    """Remove the metrics after a checkpoint (-1: all), from which a run resumes; return its seconds."""
    kept = [line for line in read_lines(folder) if line["step"] <= step]
    (folder / METRICS).write_bytes(b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in kept))
    return float(kept[-1].get("seconds", 0.0)) if kept else 0.0


def draw(folder: Path, title: str) -> None:
    """Draw loss and accuracy over the steps, if there are metrics and matplotlib is installed."""
    lines = read_lines(folder)
    if not lines or find_spec("matplotlib") is None:
        return

    def points(name: str) -> Points:
        return [(line["step"], line[name]) for line in lines if name in line]

    accuracy = "mean_token_accuracy"
    panels = {
        "loss (nats per token)": (points("loss"), points("eval_loss")),
        "accuracy on the policy's tokens": (points(accuracy), points(f"eval_{accuracy}")),
    }
    draw_curve(panels, folder / CURVE, title=title)
