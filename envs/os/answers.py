"""Criteria of the own tasks: the answer, and that nothing else was changed on the way."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from pydantic import Field

from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.finding import Finding, quote_call, quote_text
from simia_gym.rewards.programs.program import Args
from simia_gym.state.pointer import pointer_parts

_LONGEST = 200


class AnsweredArgs(Args):
    """Arguments of `answered`."""

    value: str = Field(description="The right answer.")


def answered(finished: FinishedEpisode, args: AnsweredArgs) -> Finding:
    """The task was ended by the right answer and nothing beside it; numbers are compared as numbers."""
    for call in reversed(finished.calls):
        if call.name == "answer_action" and call.ok:
            given = str(call.arguments.get("answer", ""))
            holds = _plain(given) == _plain(args.value)
            reason = f"the answer is {given[:80]!r}" + ("" if holds else f", not {args.value!r}")
            return Finding.of(holds, reason, (quote_call(finished, call),))
    return Finding.of(False, "no answer was given")


def nothing_else(finished: FinishedEpisode, args: Args) -> Finding:
    """After no command anything differed outside of /tmp but what the task asks for."""
    asked = {pointer_parts(op["path"])[1] for op in finished.task.goal or ()}
    for index, event in enumerate(finished.events):
        for op in event.get("ops") or ():
            table, *rest = pointer_parts(op["path"])
            if table == "files" and rest and rest[0] not in asked:
                return Finding.of(False, f"{rest[0]} was changed", (quote_text(index, op["path"]),))
    return Finding.of(True, "nothing was changed but what the task asks for")


def _plain(text: str) -> str | Decimal:
    """An answer without what says nothing: spaces, quotes around it, a final stop."""
    plain = " ".join(text.split()).removesuffix(".").strip("\"'`").removesuffix(".")
    if len(plain) > _LONGEST:
        return plain
    try:
        number = Decimal(plain)
    except InvalidOperation:
        return plain
    return number if number.is_finite() else plain
