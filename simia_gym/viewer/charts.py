"""Charts as SVG for a page: drawn by matplotlib, in the page's own colours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from markupsafe import Markup

_INK, _BAR, _SECOND, _LINE = "#010101", "#020202", "#030303", "#040404"
_COLOURS = {_INK: "var(--ink)", _BAR: "var(--accent)", _SECOND: "var(--second)", _LINE: "var(--line)"}
"""The colours that are drawn, and those of the page that take their places."""
_OUTSIDE = re.compile(r"<metadata>.*?</metadata>|^.*?(?=<svg)|<!--.*?-->| id=\"[\w.]+_\d+\"", re.DOTALL)
"""What a page needs not: head, metadata, comments, and ids that would be there again in the next chart."""
_PUBLIC = re.compile(r' xmlns(:\w+)?="[^"]*"| (xlink:href)="')
_WIDTH, _HEIGHT = 3.6, 1.7
_APART = 0.065
"""The least distance of two names, as a share of the axis."""

Points = Sequence[tuple[float, float]]


def histogram(values: Sequence[float], label: str, *, share: bool = False) -> Markup:
    """How often which values occur; of shares, over 0 to 1."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    axis = figure.subplots()
    low, high = (0.0, 1.0) if share else (min(values, default=0.0), max(values, default=0.0))
    whole = all(float(value).is_integer() for value in values)
    bins = int(high - low) + 1 if whole and not share and high - low < 25 else 20
    around = 0.5 if whole and not share else 0.0
    axis.hist(values, bins=bins, range=(low - around, max(high, low + 1) + around), color=_BAR)
    axis.set_xlabel(label)
    axis.set_ylabel("episodes")
    axis.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=not share))
    axis.yaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))
    return _drawn(figure, label, f"Histogram of {label} over {len(values)} episodes")


def curves(lines: Mapping[str, Points], label: str, along: str) -> Markup:
    """Values over steps, one line for each name."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH * 1.5, _HEIGHT * 1.2), layout="constrained")
    axis = figure.subplots()
    for (name, points), (colour, style) in zip(lines.items(), ((_BAR, "-"), (_SECOND, "--")), strict=False):
        marker = "." if len(points) < 60 else ""
        axis.plot([x for x, _ in points], [y for _, y in points], color=colour, ls=style, marker=marker, label=name)
    axis.set_xlabel(along)
    axis.set_ylabel(label)
    axis.grid(color=_LINE)
    if len(lines) > 1:
        axis.legend(frameon=False, labelcolor=_INK)
    return _drawn(figure, label, f"{label} over {along}")


def intervals(rows: Sequence[tuple[str, float, float, float]], label: str) -> Markup:
    """Named values from 0 to 1 with their intervals, one below the other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH * 1.15, 0.6 + 0.24 * len(rows)), layout="constrained")
    axis = figure.subplots()
    for place, (_, value, low, high) in enumerate(rows):
        axis.plot([low, high], [place, place], color=_LINE, linewidth=4)
        axis.plot([value], [place], color=_BAR, marker="o", markersize=4)
    axis.set_yticks(range(len(rows)), [name[:40] for name, *_ in rows], parse_math=False)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlim(-0.02, 1.02)
    axis.set_xlabel(label)
    return _drawn(figure, label, f"{label}, with intervals")


def slopes(rows: Sequence[tuple[str, float, float]], label: str, sides: tuple[str, str]) -> Markup:
    """Named values on two sides, joined by lines: where lines cross, the order differs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH * 1.5, _HEIGHT * 1.6), layout="constrained")
    axis = figure.subplots()
    for _, left, right in rows:
        axis.plot([0, 1], [left, right], color=_BAR, marker="o", markersize=4)
    low, high = axis.get_ylim()
    free = low
    for name, _, right in sorted(rows, key=lambda row: row[2]):
        place = max(right, free)  # names of equal values stand above each other
        free = place + _APART * (high - low)
        axis.text(1.03, place, name[:40], color=_INK, fontsize=8, va="center", parse_math=False)
    axis.set_xticks([0, 1], [side[:30] for side in sides], parse_math=False)
    axis.set_xlim(-0.1, 1.8)
    axis.set_ylabel(label)
    return _drawn(figure, label, f"{label} on both sides")


def _drawn(figure: Any, name: str, title: str) -> Markup:
    """The figure as an SVG element, with a title for who cannot see it."""
    from matplotlib import rc_context

    for axis in figure.axes:
        axis.tick_params(colors=_INK, labelsize=8)
        axis.xaxis.label.set(color=_INK, size=9)
        axis.yaxis.label.set(color=_INK, size=9)
        for side, spine in axis.spines.items():
            spine.set(color=_LINE, visible=side in ("left", "bottom"))
    out = StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    svg = _OUTSIDE.sub("", out.getvalue())
    svg = _PUBLIC.sub(lambda found: ' href="' if found[2] else "", svg)
    for drawn, shown in _COLOURS.items():
        svg = svg.replace(drawn, shown)
    return Markup(svg.replace("<svg", f'<svg role="img" aria-label="{title}"', 1).strip())
