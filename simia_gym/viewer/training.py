"""The folder of a training: how its metrics went over the steps, and where the records of its episodes are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simia_gym.errors import InputError

if TYPE_CHECKING:
    from markupsafe import Markup

METRICS, ROLLOUTS = "metrics.jsonl", "rollouts"
_PURPOSES = {"train": "training tasks", "val": "validation tasks"}
_CURVES = ("reward", "success", "faults", "turns", "length")
"""The metrics that are drawn; of faults, their number."""


def is_training(folder: Path) -> bool:
    """Whether a training was run in this folder."""
    return (folder / METRICS).is_file()


def curves_of(folder: Path) -> list[Markup]:
    """The metrics of a training over its steps, as charts.

    Raises:
        InputError: A line is broken, or no step has been measured yet.
    """
    from simia_gym.viewer.charts import curves

    path = folder / METRICS
    lines = list(_lines(path))
    if not lines:
        raise InputError("no step has been measured yet", where=str(path), fix="Wait for the first step.")
    drawn = []
    for name in _CURVES:
        found = {
            label: [(line["step"], value) for line in lines if (value := _value(line.get(purpose), name)) is not None]
            for purpose, label in _PURPOSES.items()
        }
        if any(found.values()):
            drawn.append(curves({label: points for label, points in found.items() if points}, name, "step"))
    return drawn


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for number, raw in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):  # what has no end is torn
        try:
            line = json.loads(raw)
            line["step"] + 0
        except (ValueError, TypeError, KeyError) as error:
            where, fix = f"{path}:{number}", "Give the folder of a training, as it was written."
            raise InputError("is no line of metrics", where=where, fix=fix) from error
        yield line


def _value(part: Any, name: str) -> float | None:
    value = part.get(name) if isinstance(part, dict) else None
    if name == "faults" and isinstance(value, dict):
        return float(sum(value.values()))
    return float(value) if isinstance(value, int | float) else None
