"""A report of scores as a page: its tables and plots, above the list of the episodes that they are of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from simia_gym.common.fitting_table import FittingTable
from simia_gym.evaluation.score_tables import score_parts
from simia_gym.types import JsonObject
from simia_gym.viewer.pages import PanelsOf, list_page
from simia_gym.viewer.rows import overview_of

if TYPE_CHECKING:
    from markupsafe import Markup

_PLOTTED = (("pass_at_1", "pass@1"), ("mean_reward", "mean reward"))


class Scores(NamedTuple):
    """A part of a report for the template: a table, or lines of text.

    Attributes:
        title: What the table shows; empty for lines.
        head: The headings.
        rows: The cells of each row, the label first.
        lines: Texts, if it is no table.
    """

    title: str = ""
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    lines: Sequence[str] = ()


def score_page(report: JsonObject, paths: Sequence[Path], panels_of: PanelsOf) -> Iterator[str]:
    """The parts of the page of a report.

    Args:
        report: The scores, from `make_report`.
        paths: The records that were scored.
        panels_of: Finds the domain's own view of a record's state.
    """
    title = " | ".join(dict.fromkeys(one["label"] for one in report["series"]))
    return list_page(overview_of(paths), title, panels_of, _plots(report), scores=list(_parts(report)))


def _parts(report: JsonObject) -> Iterator[Scores]:
    lines: list[str] = []
    for part in score_parts(report):
        if isinstance(part, FittingTable):
            if lines:
                yield Scores(lines=lines)
            lines = []
            head = [part.label, *(part.rows[0][1] if part.rows else ())]
            yield Scores(part.title, head, [[label, *cells.values()] for label, cells in part.rows])
        elif isinstance(part, Text):
            lines.append(part.plain)
    yield Scores(lines=lines)


def _plots(report: JsonObject) -> list[Markup]:
    """Scores with their intervals: of several policies side by side, or of one by kind of task."""
    from simia_gym.viewer.charts import intervals

    series = report["series"]
    rows = [(one["label"], one) for one in series]
    if len(series) == 1:
        rows = [*series[0]["kinds"].items(), ("all", series[0])]
    drawn: list[Markup] = []
    shown: list[object] = []
    for key, label in _PLOTTED:
        points = [(name, one[key]["value"], *(one[key]["interval"] or (one[key]["value"],) * 2)) for name, one in rows]
        known = [point for point in points if point[1] is not None]
        if known and known not in shown:  # a strict reward is the rate of success
            shown.append(known)
            drawn.append(intervals(known, label))
    return drawn
