"""Renders a comparison for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from simia_gym.common.fitting_table import FittingTable
from simia_gym.common.formatting import NONE, counted, number, one_line
from simia_gym.evaluation.comparing.comparison import Comparison, Figure, Side

_MOST = 10
_WORDS = {
    "observation": "observation is the same",
    "outcome": "outcome is the same",
    "error_code": "error code is the same",
    "changes": "changes are the same",
    "missed_writes": "calls with a missed write",
    "spurious_writes": "calls with a spurious write",
    "wrong_writes": "calls with a wrong value",
    "final_state": "whole final state is the same",
    "user_reply": "user's reply is the same",
    "same_episode": "episodes without divergence",
    "reward": "reward is the same",
    "false_positives": "false positives",
    "false_negatives": "false negatives",
    "kappa": "Cohen's kappa of success",
    "turns": "turns, right - left",
    "tokens": "tokens, right - left",
    "cost": "cost in USD, right - left",
    "policy_order": "Kendall's tau-b of policies",
    "largest_over_estimate": "largest over-estimate",
}
_PLACES: Mapping[str, int] = {**dict.fromkeys([*_WORDS][13:], 3), "cost": 6}
"""Decimal places; a figure without them is a share."""


def comparison_parts(found: Comparison) -> Iterator[RenderableType]:
    """The tables and lines that show a comparison."""
    compared = ", ".join(f"{name} {_short(a)} | {_short(b)}" for name, (a, b) in found.compared.items())
    yield Text(f"{found.env.removeprefix('simia/')} · left {found.left.label} · right {found.right.label}")
    if found.mode != "closed-loop":
        yield Text(f"{found.mode}: the actions and the user's messages of the left side are forced on the right side")
    yield Text(f"compared: {compared or 'nothing, all settings are the same'}")
    yield _figures("figure", figures_of(found))
    if found.tools:
        yield _figures("observation by tool", _cells({name: (None, one) for name, one in found.tools.items()}))
    if found.mode == "drift":
        steps = {str(number): (None, one) for number, one in found.steps.items()}
        yield _figures("observation by call", _cells(steps))
    if len(found.policies) > 1:
        yield _policies(found)
    yield from map(Text, _lines(found))


def figures_of(found: Comparison) -> Iterator[tuple[str, dict[str, str]]]:
    """The figures of a comparison as texts: label, and value, interval, ``n`` and number of tasks."""
    return _cells({_WORDS[name]: (_PLACES.get(name), one) for name, one in found.figures.items()})


def _cells(rows: Mapping[str, tuple[int | None, Figure]]) -> Iterator[tuple[str, dict[str, str]]]:
    for name, (places, one) in rows.items():
        value = (
            "undefined" if one.note.startswith("undefined") else "not applicable" if one.note else _value(one, places)
        )
        yield name, {"value": value, "95% CI": _interval(one, places), "n": f"{one.n:,}", "tasks": f"{one.tasks:,}"}


def _figures(label: str, rows: Iterable[tuple[str, dict[str, str]]]) -> FittingTable:
    table = FittingTable(label, dispensable=("tasks",))
    for name, cells in rows:
        table.add(name, cells)
    return table


def _policies(found: Comparison) -> FittingTable:
    table = FittingTable("policy", title="mean reward", dispensable=("n", "95% CI"))
    for one in found.policies:
        cells = {"left": number(one.left.value, 3), "right": number(one.right.value, 3)}
        difference = one.difference.value
        cells["right - left"] = NONE if difference is None else f"{difference:+.3f}"
        table.add(one.policy, cells | {"95% CI": _interval(one.difference, 3), "n": str(one.left.n)})
    return table


def _value(one: Figure, places: int | None) -> str:
    if one.value is None:
        return NONE
    return f"{100 * one.value:.1f}%" if places is None else f"{one.value:.{places}f}"


def _interval(one: Figure, places: int | None) -> str:
    if one.interval is None:
        return NONE
    low, high = one.interval
    return f"{100 * low:.1f}–{100 * high:.1f}%" if places is None else f"{low:.{places}f} to {high:.{places}f}"


def _short(value: Any) -> str:
    return "none" if value is None else one_line(str(value), 40)


def _lines(found: Comparison) -> Iterator[str]:
    for (kind, who), count in [*found.divergences.items()][:_MOST]:
        yield f"first divergence: {kind}{f' of {who}' if who else ''} x {count:,}"
    for flip in found.flips[:_MOST]:
        yield f"flipped: {flip.task} with {flip.policy}: {flip.left:.2f} on the left, {flip.right:.2f} on the right"
    if len(found.flips) > _MOST:
        yield f"flipped: {len(found.flips) - _MOST:,} more, see --json"
    for name, side, other in (("left", found.left, found.right), ("right", found.right, found.left)):
        yield from _of_side(name, side, other)
    repaired = [sum(getattr(pair, name).repaired for pair in found.pairs) for name in ("left", "right")]
    if any(repaired):
        yield f"rejected and asked again: {repaired[0]:,} replies on the left, {repaired[1]:,} on the right"
    for warning in found.warnings:
        yield f"warning: {warning}"
    how = f"bootstrap ({found.resamples:,} draws, seed {found.seed}) or Wilson"
    yield f"{counted(len(found.pairs), 'pair')}; 95% intervals are over tasks: {how}"


def _of_side(name: str, side: Side, other: Side) -> Iterator[str]:
    if side.unpaired:
        yield f"{name}: {counted(side.unpaired, 'episode')} of {side.label} without a partner in {other.label}"
    if side.invalid:
        yield f"{name}: {counted(side.invalid, 'episode')} without a reward, in no figure of rewards"
