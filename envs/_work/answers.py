"""The criterion that a task was ended by the right answer, as a value."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from pydantic import Field

from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import Finding, quote_call
from simia_gym.rewards.programs.program import Args

_LONGEST = 200


class AnsweredArgs(Args):
    """Arguments of the criterion."""

    value: str = Field(description="The right answer.")


def right_answer(finished: FinishedEpisode, tool: str, right: str, *, any_case: bool = False) -> Finding:
    """The last successful call of a tool gave the right answer and nothing beside it; numbers are compared as numbers.

    Args:
        finished: The episode.
        tool: The tool whose argument ``answer`` ends the task.
        right: The right answer.
        any_case: Whether upper and lower case are the same.
    """
    for call in reversed(finished.calls):
        if call.name == tool and call.ok:
            given = str(call.arguments.get("answer", ""))
            holds = _plain(given, any_case) == _plain(right, any_case)
            reason = f"the answer is {given[:80]!r}" + ("" if holds else f", not {right!r}")
            return Finding.of(holds, reason, (quote_call(finished, call),))
    return Finding.of(False, "no answer was given")


def _plain(text: str, any_case: bool) -> str | Decimal:
    """An answer without what says nothing: spaces, quotes around it, a final stop."""
    plain = " ".join(text.split()).removesuffix(".").strip("\"'`").removesuffix(".")
    plain = plain.casefold() if any_case else plain
    if len(plain) > _LONGEST:
        return plain
    try:
        number = Decimal(plain)
    except InvalidOperation:
        return plain
    return number if number.is_finite() else plain
