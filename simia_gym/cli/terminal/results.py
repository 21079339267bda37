"""Formats the results of a rollout: a table by kind of task, lines on faults, the JSON value, a picture."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from simia_gym.common.fitting_table import FittingTable
from simia_gym.common.formatting import counted, interval, number, one_line, percent
from simia_gym.rollout.summary import Summary, Tally, wilson

_MOST_ROWS = 12
_PER_KIND = ("episodes", "valid", "success_rate", "mean_reward", "mean_turns")
_PICTURE_WIDTH = 92
_FONTS = re.compile(r"\s*@font-face \{.*?\}(?=\s)", re.DOTALL)


def results_table(title: str, summary: Summary) -> FittingTable:
    """Success, reward and length by kind of task and in total."""
    table = FittingTable("task kind", title=title, dispensable=("turns", "reward"), total=True)
    for kind, tally in [*_rows(summary.kinds), ("all", summary.all)]:
        bounds = wilson(tally.successes, tally.valid) if tally.valid else None
        cells = {"valid": str(tally.valid), "success": percent(tally.success_rate), "95% CI": interval(bounds)}
        table.add(kind, cells | {"reward": number(tally.mean_reward, 3), "turns": number(tally.mean_turns, 1)})
    return table


def _rows(kinds: Mapping[str, Tally]) -> list[tuple[str, Tally]]:
    """The kinds in order; if there are many, kinds whose names begin with the same word are merged."""
    if len(kinds) <= _MOST_ROWS:
        return sorted(kinds.items())
    families: dict[str, list[str]] = {}
    for kind in sorted(kinds):
        families.setdefault(kind.partition("_")[0], []).append(kind)
    return [
        (f"{word}, {len(names)} kinds" if len(names) > 1 else names[0], Tally.sum(kinds[name] for name in names))
        for word, names in families.items()
    ]


def fault_lines(summary: Summary) -> list[str]:
    """One line on faults, and one example of each."""
    if not summary.invalid:
        return [f"faults: none; valid episodes: {summary.all.episodes}"]
    verbs = "is invalid and counts" if summary.invalid == 1 else "are invalid and count"
    lines = [f"faults: {summary.invalid} of {counted(summary.all.episodes, 'episode')} {verbs} in no rate"]
    lines += [f"  {name} x {count}: {one_line(summary.messages[name])}" for name, count in summary.faults.most_common()]
    return lines


def results_json(env: str, summary: Summary, seconds: float, record: Path, **more: Any) -> dict[str, Any]:
    """The JSON value of a rollout; rates are over valid episodes, or ``None`` if there are none."""
    total = summary.all
    return {
        "env": env,
        **more,
        "episodes": total.episodes,
        "valid": total.valid,
        "success_rate": total.success_rate,
        "success_interval": list(wilson(total.successes, total.valid)) if total.valid else None,
        "mean_reward": total.mean_reward,
        "mean_turns": total.mean_turns,
        "faults": summary.invalid,
        "fault_kinds": dict(sorted(summary.faults.items())),
        "reused": summary.reused,
        "kinds": {
            kind: {name: getattr(tally, name) for name in _PER_KIND} for kind, tally in sorted(summary.kinds.items())
        },
        "seconds": round(seconds, 3),
        "record": str(record),
    }


def write_picture(path: Path, command: str, *parts: RenderableType) -> None:
    """Write terminal output as SVG."""
    console = Console(
        record=True, file=io.StringIO(), width=_PICTURE_WIDTH, force_terminal=True, color_system="truecolor"
    )
    console.print(Group(Text(f"$ {command}", style="bold green"), *parts))
    # Remove rich's links to web fonts: the viewer uses its own monospace font.
    path.write_text(_FONTS.sub("", console.export_svg(title="simia")), encoding="utf-8")
