"""Checks on the final state. They look at touched rows only, never at the whole database.

A simulator that only imitates answers leaves the state as it was at the start, so a check of the final state would find
that nothing was done. `hide_missing_state` makes every check that reads such a state fail with a fault; checks that
read only the record are not affected.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn, cast

from pydantic import Field

from simia_gym.domain.goal import MISSING, first_difference, goal_parts, value_at
from simia_gym.errors import Fault
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import MOST_EVIDENCE, Finding, quote_change
from simia_gym.rewards.programs.program import Args, TableName, TableNames
from simia_gym.state import State, strict_equal

NO_STATE = "the simulator kept no state, so the final state proves nothing"
NO_STATE_FAULT = "no_state"
"""The kind of the fault that a check raises when it reads the missing state."""
STATE_PROGRAMS = frozenset({"goal_state", "state_is", "unchanged"})
"""The programs that read only the final state."""


class _MissingState:
    """Takes the place of the final state; every attribute raises a fault."""

    def __getattr__(self, name: str) -> NoReturn:
        raise Fault(NO_STATE_FAULT, NO_STATE, role="judge")


def hide_missing_state(finished: FinishedEpisode) -> FinishedEpisode:
    """Replace the final state of an episode whose simulator kept none by one that cannot be read."""
    return replace(finished, final=cast(State, _MissingState())) if finished.stateless else finished


class GoalStateArgs(Args):
    """Arguments of `goal_state`."""

    tolerance: float = Field(default=1e-6, ge=0, description="Greatest difference between numbers that count as equal.")
    ignore: TableNames = Field(
        default=(), description="Pointers of what does not matter; `*` stands for any characters of one segment."
    )


def goal_state(finished: FinishedEpisode, args: GoalStateArgs) -> Finding:
    """The task's goal holds in the final state and nothing else changed (an empty goal: nothing changed at all)."""
    goal = finished.task.goal
    if goal is None:
        return Finding.unknown("the task states no goal")
    if finished.stateless:
        return Finding.unknown(NO_STATE)
    ignore = (*args.ignore, *finished.uncounted)
    difference = first_difference(goal, finished.initial, finished.final, tolerance=args.tolerance, ignore=ignore)
    if difference is None:
        seen = {piece: None for op in goal[: 2 * MOST_EVIDENCE] for piece in quote_change(finished, op["path"])}
        reason = "the goal holds and nothing else changed" if goal else "nothing changed, as it should"
        return Finding.of(True, reason, seen)
    reason = f"something else changed: {difference.describe()}" if difference.unexpected else difference.describe()
    return Finding.of(False, reason, quote_change(finished, difference.path))


class StateIsArgs(Args):
    """Arguments of `state_is`."""

    path: TableName = Field(description="JSON Pointer of the value, /table/key or deeper.", pattern="^/[^/*]+/[^/]+")
    value: Any = Field(description="The value that should stand there; null for nothing.")
    tolerance: float = Field(default=1e-6, ge=0, description="Greatest difference between numbers that count as equal.")


def state_is(finished: FinishedEpisode, args: StateIsArgs) -> Finding:
    """One value of the final state is as given; other changes do not matter."""
    if finished.stateless:
        return Finding.unknown(NO_STATE)
    got = value_at(finished.final, goal_parts(args.path))
    holds = got in (MISSING, None) if args.value is None else strict_equal(args.value, got, args.tolerance)
    shown = "nothing" if got is MISSING else f"{got!r:.120}"
    reason = f"{args.path} is {shown}" if holds else f"{args.path}: expected {args.value!r:.120}, got {shown}"
    return Finding.of(holds, reason, quote_change(finished, args.path))


class UnchangedArgs(Args):
    """Arguments of `unchanged`."""

    tables: TableNames = Field(default=(), description="The tables that must not change; all if none are named.")
    ignore: TableNames = Field(
        default=(), description="Pointers of what does not matter; `*` stands for any characters of one segment."
    )


def unchanged(finished: FinishedEpisode, args: UnchangedArgs) -> Finding:
    """Nothing in the named tables is different at the end from what it was at the start."""
    if finished.stateless:
        return Finding.unknown(NO_STATE)
    ignore = args.ignore if args.tables else (*args.ignore, *finished.uncounted)
    if args.tables:
        touched = {table for table, _ in finished.final.touched_since(finished.initial)}
        ignore = (*ignore, *(f"/{table}" for table in sorted(touched - set(args.tables))))
    difference = first_difference((), finished.initial, finished.final, ignore=ignore)
    if difference is None:
        return Finding.of(True, f"nothing changed in {', '.join(args.tables) or 'the state'}")
    return Finding.of(False, difference.describe(), quote_change(finished, difference.path))
