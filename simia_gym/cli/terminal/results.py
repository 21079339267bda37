"""How results look: the table by kind of task, the lines on faults, the picture, the JSON value."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from simia_gym.cli.terminal.output import counted, number, one_line, percent
from simia_gym.errors import InputError
from simia_gym.rollout.store import sidecar
from simia_gym.rollout.summary import Summary, Tally, wilson

_WIDTH = 92
_MOST_ROWS = 12

_FONTS = re.compile(r"\s*@font-face \{.*?\}(?=\s)", re.DOTALL)


def results_table(title: str, summary: Summary, width: int = _WIDTH) -> Table:
    """Success, reward and length by kind of task, and over all.

    Args:
        title: Its title.
        summary: The results.
        width: Columns that there are.
    """
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("task kind", overflow="fold")
    # Where there is little room, the names of the kinds need it more.
    means = ("mean reward", "mean turns") if width >= _WIDTH else ("reward", "turns")
    for name in ("n", "success", "95% interval", *means):
        table.add_column(name, justify="right", no_wrap=True)
    for kind, tally in _rows(summary.kinds):
        table.add_row(kind, *_cells(tally))
    table.add_section()
    table.add_row("all", *_cells(summary.all), style="bold")
    return table


def _rows(kinds: Mapping[str, Tally]) -> list[tuple[str, Tally]]:
    """The kinds in order; where there are many, those that begin with the same word stand together."""
    if len(kinds) <= _MOST_ROWS:
        return sorted(kinds.items())
    families: dict[str, list[str]] = {}
    for kind in sorted(kinds):
        families.setdefault(kind.partition("_")[0], []).append(kind)
    return [
        (f"{word}, {len(names)} kinds" if len(names) > 1 else names[0], Tally.sum(kinds[name] for name in names))
        for word, names in families.items()
    ]


def _cells(tally: Tally) -> list[str]:
    low, high = wilson(tally.successes, tally.valid)
    interval = f"{100 * low:.0f}–{100 * high:.0f}%" if tally.valid else "–"
    return [
        str(tally.valid),
        percent(tally.success_rate),
        interval,
        number(tally.mean_reward, 3),
        number(tally.mean_turns, 1),
    ]


def fault_lines(summary: Summary) -> list[str]:
    """One line on faults, and one example of each."""
    if not summary.invalid:
        all_of_them = summary.all.episodes
        return [f"faults: none, {f'all {all_of_them} episodes are' if all_of_them != 1 else 'the episode is'} valid"]
    verbs = "is invalid and counts" if summary.invalid == 1 else "are invalid and count"
    lines = [f"faults: {summary.invalid} of {counted(summary.all.episodes, 'episode')} {verbs} in no rate"]
    lines += [f"  {name} x {count}: {one_line(summary.messages[name])}" for name, count in summary.faults.most_common()]
    return lines


def results_json(env: str, summary: Summary, seconds: float, record: Path, **more: Any) -> dict[str, Any]:
    """The JSON value of a rollout; rates are over valid episodes, ``None`` without any."""
    low, high = wilson(summary.all.successes, summary.all.valid)
    return {
        "env": env,
        **more,
        "episodes": summary.all.episodes,
        "valid": summary.all.valid,
        "success_rate": summary.all.success_rate,
        "success_interval": [low, high] if summary.all.valid else None,
        "mean_reward": summary.all.mean_reward,
        "mean_turns": summary.all.mean_turns,
        "faults": summary.invalid,
        "fault_kinds": dict(sorted(summary.faults.items())),
        "reused": summary.reused,
        "kinds": {
            kind: {
                "episodes": tally.episodes,
                "valid": tally.valid,
                "success_rate": tally.success_rate,
                "mean_reward": tally.mean_reward,
                "mean_turns": tally.mean_turns,
            }
            for kind, tally in sorted(summary.kinds.items())
        },
        "seconds": round(seconds, 3),
        "record": str(record),
    }


def check_picture(path: Path, record: Path) -> None:
    """Make sure that a picture can be written, before a long run and not after it.

    Args:
        path: The picture.
        record: The rollout's record.

    Raises:
        InputError: It cannot, or would take the place of something else than an older picture.
    """
    try:
        if path.resolve() in (record.resolve(), sidecar(record).resolve()):
            raise InputError("is the record of this rollout", where=str(path), fix="Give another --svg.")
        existed = path.exists()
        if path.is_file() and not _is_picture(path):
            raise InputError("the file exists already and is no picture", where=str(path), fix="Give another --svg.")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab"):
            pass
        if not existed:
            path.unlink()
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", where=str(path), fix="Give another --svg.") from error


def _is_picture(path: Path) -> bool:
    with path.open("rb") as file:
        beginning = file.read(512).lstrip()
    return not beginning or beginning.startswith((b"<svg", b"<?xml"))


def write_picture(path: Path, command: str, *parts: RenderableType) -> None:
    """Export what a terminal would show as SVG.

    Raises:
        InputError: The file cannot be written.
    """
    console = Console(record=True, file=io.StringIO(), width=_WIDTH, force_terminal=True, color_system="truecolor")
    console.print(Group(Text(f"$ {command}", style="bold green"), *parts))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whoever looks at the picture should not have to fetch a font for it: the reader's own monospace will do.
        path.write_text(_FONTS.sub("", console.export_svg(title="simia")), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", where=str(path), fix="Give another --svg.") from error
