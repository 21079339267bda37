"""Checks on the course of an episode: valid actions, the reason for its end, the number of turns."""

from __future__ import annotations

from pydantic import Field

from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import Finding, quote_text
from simia_gym.rewards.programs.program import Args, Texts
from simia_gym.types import Evidence

GATE = ("unknown_tool", "invalid_arguments")
"""Error codes of calls that were rejected before they reached a tool."""


class NoErrorsArgs(Args):
    """Arguments of `no_errors`."""

    max: int = Field(default=0, ge=0, description="Most malformed actions that are allowed.")
    codes: Texts = Field(default=(), description="Only these codes count; all if none are named.")
    calls: bool = Field(default=False, description="Whether unknown tools and invalid arguments count too.")


def no_errors(finished: FinishedEpisode, args: NoErrorsArgs) -> Finding:
    """No action was malformed, or at most as many as given."""
    errors = _errors(finished, calls=args.calls)
    if args.codes:
        errors = [(index, code) for index, code in errors if code in args.codes]
    holds = len(errors) <= args.max
    reason = f"{len(errors)} invalid actions" + ("" if holds else f", at most {args.max} allowed")
    return Finding.of(holds, reason, (quote_text(index, code) for index, code in errors))


class ValidActionsArgs(Args):
    """Arguments of `valid_actions`."""

    calls: bool = Field(default=False, description="Whether unknown tools and invalid arguments count too.")


def valid_actions(finished: FinishedEpisode, args: ValidActionsArgs) -> Finding:
    """Every action is well formed; the value is the share that is."""
    acted = {e["turn"] for e in finished.events if e["type"] == "action"}
    errors = _errors(finished, calls=args.calls)
    bad = {finished.events[index]["turn"] for index, _ in errors} & acted
    if not acted:
        return Finding.of(False, "the agent did nothing")
    evidence = tuple(quote_text(index, code) for index, code in errors[:4])
    return Finding(1 - len(bad) / len(acted), f"{len(acted) - len(bad)} of {len(acted)} actions were valid", evidence)


class EndedByArgs(Args):
    """Arguments of `ended_by`."""

    reason: Texts = Field(description="The reasons that are right, such as user_stop.")


def ended_by(finished: FinishedEpisode, args: EndedByArgs) -> Finding:
    """The episode ended for one of the given reasons."""
    holds = finished.ended in args.reason
    evidence = [
        Evidence(index, finished.ended)
        for index, event in enumerate(finished.events)
        if finished.ended
        and (event["type"] == "end" or event.get("end") is not None)
        and finished.ended in (event.get("reason"), event.get("end"))
    ]
    wanted = "" if holds else f", expected {' or '.join(args.reason)}"
    return Finding.of(holds, f"ended by {finished.ended}{wanted}", evidence[-1:])


class MaxTurnsUsedArgs(Args):
    """Arguments of `max_turns_used`."""

    max: int = Field(ge=0, description="Most turns.")


def max_turns_used(finished: FinishedEpisode, args: MaxTurnsUsedArgs) -> Finding:
    """The episode took no more turns than given."""
    holds = finished.turns <= args.max
    return Finding.of(holds, f"{finished.turns} turns" + ("" if holds else f", at most {args.max} allowed"))


def _errors(finished: FinishedEpisode, *, calls: bool) -> list[tuple[int, str]]:
    found = [(index, event["code"]) for index, event in enumerate(finished.events) if event["type"] == "invalid"]
    if calls:
        found += [(call.event, call.error_code) for call in finished.calls if call.error_code in GATE]
    return sorted(found)
