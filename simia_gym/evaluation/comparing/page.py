"""A comparison as a page: its figures as tables and plots, and each pair of episodes side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from simia_gym.evaluation.comparing.comparison import Comparison, Pair
from simia_gym.evaluation.comparing.files import Records
from simia_gym.evaluation.comparing.tables import figures_of
from simia_gym.record.records import Record
from simia_gym.viewer.pages import render
from simia_gym.viewer.steps import Step, conversation

_COLUMNS = (
    ("#", True),
    ("task", False),
    ("kind", False),
    ("left", True),
    ("right", True),
    ("rewards", False),
    ("left turns", True),
    ("right turns", True),
    ("first divergence", False),
    ("policy", False),
)
_Judged = tuple[str, str]
"""A mark and the reason."""


class _Turn(NamedTuple):
    """What was said in one turn on both sides, and whether the sides differ here for the first time."""

    left: list[Step]
    right: list[Step]
    first: bool


class _Item(NamedTuple):
    """A pair for the template."""

    number: int
    pair: Pair
    turns: list[_Turn]
    marks: tuple[int, int]
    criteria: list[tuple[str, _Judged, _Judged]]


def comparison_page(found: Comparison, left: Records, right: Records) -> Iterator[str]:
    """The parts of the page of a comparison; the records are those that were compared, still open."""
    return render(
        "comparison",
        title=f"{found.left.label} | {found.right.label}",
        found=found,
        charts=_charts(found),
        figures=list(figures_of(found)),
        columns=_COLUMNS,
        choices={
            "kind": sorted({pair.kind for pair in found.pairs}),
            "policy": sorted({pair.policy for pair in found.pairs}),
            "rewards": sorted({_rewards(pair) for pair in found.pairs}),
            "divergence": sorted({pair.divergence.kind if pair.divergence else "none" for pair in found.pairs}),
        },
        rewards=_rewards,
        items=_items(found, left, right),
    )


def _rewards(pair: Pair) -> str:
    """How the rewards of a pair relate, in one word."""
    if not pair.scored:
        return "invalid"
    return "same" if pair.left.success == pair.right.success else "flipped"


def _charts(found: Comparison) -> list[Any]:
    from simia_gym.viewer.charts import intervals, slopes

    tools = [
        (name, one.value, *(one.interval or (one.value, one.value)))
        for name, one in found.tools.items()
        if one.value is not None
    ]
    order = [
        (one.policy, one.left.value, one.right.value)
        for one in found.policies
        if one.left.value is not None and one.right.value is not None
    ]
    drawn = [intervals(tools, "observations that are the same")] if tools else []
    return drawn + ([slopes(order, "mean reward", (found.left.label, found.right.label))] if len(order) > 1 else [])


def _items(found: Comparison, left: Records, right: Records) -> Iterator[_Item]:
    alone = len(left.policies) == len(right.policies) == 1
    for number, pair in enumerate(found.pairs):
        policies = [next(iter(side.policies)) if alone else pair.policy for side in (left, right)]
        one, two = (
            side.read((policy, pair.task, pair.member)) for side, policy in zip((left, right), policies, strict=True)
        )
        yield _item(number, pair, one, two)


def _item(number: int, pair: Pair, left: Record, right: Record) -> _Item:
    sides = conversation(left).steps, conversation(right).steps
    first = pair.divergence
    begins = (-1, -1) if first is None else (first.left_event, first.right_event)
    marked = [_marked(steps, event) for steps, event in zip(sides, begins, strict=True)]
    by_turn: dict[int, tuple[list[Step], list[Step]]] = {}
    for place, steps in enumerate(sides):
        turn = 0
        for step in steps:
            turn = turn if step.turn is None else step.turn
            by_turn.setdefault(turn, ([], []))[place].append(step)
    turns: list[_Turn] = []
    for _, (one, two) in sorted(by_turn.items()):
        here = any(step.event == mark for steps, mark in zip((one, two), marked, strict=True) for step in steps)
        turns.append(_Turn(one, two, here and not any(turn.first for turn in turns)))
    return _Item(number, pair, turns, (marked[0], marked[1]), _criteria(left, right))


def _marked(steps: list[Step], event: int) -> int:
    """The event of the first step at or after an event; -1 if there is none."""
    return next((step.event for step in steps if step.event >= event), -1) if event >= 0 else -1


def _criteria(left: Record, right: Record) -> list[tuple[str, _Judged, _Judged]]:
    judged: list[dict[str, _Judged]] = []
    for record in (left, right):
        marks = {None: "?", True: "✓", False: "✗"}
        criteria = record.verdict["criteria"]
        judged.append({item["id"]: (marks[item["passed"]], item["reason"]) for item in criteria})
    one, two = judged
    nothing = ("–", "")
    return [(name, one.get(name, nothing), two.get(name, nothing)) for name in dict.fromkeys((*one, *two))]
