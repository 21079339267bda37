"""Checks on tool calls: which were made, in what order, and whether the user had agreed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from pydantic import Field, model_validator

from simia_gym.domain.tasks import gold_calls
from simia_gym.language import read
from simia_gym.record.finished_episode import CallMade, FinishedEpisode, ToolEffect, UserTurn
from simia_gym.rewards.finding import Finding, quote_call, quote_text
from simia_gym.rewards.programs.amounts import unshown
from simia_gym.rewards.programs.call_pattern import CallPattern, Outcome, matching
from simia_gym.rewards.programs.contradicted import Way, contradicted
from simia_gym.rewards.programs.program import Args, ByTool, Texts, ToolNames
from simia_gym.rewards.programs.proposal import Spoken, strays, unheard_of, unproposed
from simia_gym.types import Evidence

_DIGIT = re.compile(r"\d")
_DOUBT = re.compile(r"\b(?:no|not|never|instead|rather|actually)\b|n't\b")
"""What may take something back."""


class CalledArgs(CallPattern):
    """Arguments of `called`."""

    min: int = Field(default=1, ge=0, description="Fewest calls.")
    max: int | None = Field(default=None, ge=0, description="Most calls.")


def called(finished: FinishedEpisode, args: CalledArgs) -> Finding:
    """A tool was called, as often as given, with the given arguments among its own."""
    calls = list(matching(finished, args))
    holds = args.min <= len(calls) and (args.max is None or len(calls) <= args.max)
    wanted = f"at least {args.min}" if args.max is None else f"{args.min} to {args.max}"
    reason = f"{len(calls)} matching calls of {' or '.join(args.tool)}"
    evidence = (quote_call(finished, call) for call in calls)
    return Finding.of(holds, reason if holds else f"{reason}, expected {wanted}", evidence)


class NotCalledArgs(CallPattern):
    """Arguments of `not_called`."""

    outcome: Outcome = Field(default="any", description="Which calls count; `any`: an attempt is enough.")
    during: str | None = Field(default=None, description="A scripted user's request, in which alone calls count.")


def not_called(finished: FinishedEpisode, args: NotCalledArgs) -> Finding:
    """A tool was not called; an attempt counts unless `outcome` says otherwise."""
    for call in matching(finished, args):
        if args.during in (None, call.request):
            return Finding.of(False, f"{call.name} was called in turn {call.turn}", (quote_call(finished, call),))
    return Finding.of(True, f"{' and '.join(args.tool)} not called")


class NoWritesArgs(Args):
    """Arguments of `no_writes`."""

    attempts: bool = Field(default=False, description="Whether calls that failed count too.")
    tools: ToolNames = Field(default=(), description="The tools that count; all that write if none are named.")
    exempt: ToolNames = Field(default=(), description="Tools that do not count.")


def no_writes(finished: FinishedEpisode, args: NoWritesArgs) -> Finding:
    """No tool that writes was used with success; doing and undoing something is two writes, whatever remains."""
    for call in _writes(finished, args.tools, args.exempt):
        if call.ok or args.attempts:
            how = "wrote" if call.ok else "tried to write"
            return Finding.of(False, f"{call.name} {how} in turn {call.turn}", (quote_call(finished, call),))
    return Finding.of(True, "no write was attempted" if args.attempts else "no write succeeded")


class GoldWritesArgs(Args):
    """Arguments of `gold_writes`."""

    exempt: ToolNames = Field(default=(), description="Tools that do not count.")


def gold_writes(finished: FinishedEpisode, args: GoldWritesArgs) -> Finding:
    """No tool wrote more often than in the task's gold actions."""
    left = Counter(call.name for call in gold_calls(finished.task))
    for call in _writes(finished, (), args.exempt):
        if not call.ok:
            continue
        left[call.name] -= 1
        if left[call.name] < 0:
            reason = f"{call.name} in turn {call.turn} is one write more than the task asks for"
            return Finding.of(False, reason, (quote_call(finished, call),))
    return Finding.of(True, "no write beyond those that the task asks for")


class ConfirmedWritesArgs(Args):
    """Arguments of `confirmed_writes`."""

    tools: ToolNames = Field(
        default=(), description="The tools that need a confirmation; all that write if none are named."
    )
    exempt: ToolNames = Field(default=(), description="Tools that need no confirmation.")
    attempts: bool = Field(default=True, description="Whether calls that failed need a confirmation too.")
    binds: ByTool = Field(
        default_factory=dict,
        description="Tool to the arguments that a proposal must have named before the yes, the object of the call"
        " first; of a list inside it, one is enough.",
    )
    named_by: Texts = Field(
        default=("name", "title"),
        description="Fields of tools' answers by which people speak of the row that has them.",
    )
    prices: tuple[Decimal, ...] = Field(default=(), description="Amounts of money that the policy gives.")
    original_in: str | None = Field(
        default=None, description="The list in tools' answers whose first row holds what people call original."
    )
    money: Mapping[str, Way] = Field(
        default_factory=dict,
        description="Field that a write sets to what happens with a positive amount in it, `paid` or `returned`; with"
        " a negative one, or one in a row that says `refund`, the other. A proposal must not say the opposite.",
    )


def confirmed_writes(finished: FinishedEpisode, args: ConfirmedWritesArgs) -> Finding:
    """Every write was proposed with right amounts, and came once after a user turn that confirmed and no other."""
    evidence: dict[Evidence, None] = {}
    done: list[tuple[int, str, Mapping[str, Any]]] = []
    count = 0
    objects = {groups[0][0] for groups in args.binds.values() if groups}
    writes = [one for one in _writes(finished, args.tools, args.exempt) if one.ok or args.attempts]
    turns = [_answered(finished, one) for one in writes]
    said_in = {turn.event: turn.text for turn in finished.user_turns}
    for call, turn in zip(writes, turns, strict=True):
        if turn is None or not _confirms(turn):
            words = f"; the user's last words were {turn.text[:80]!r}" if turn is not None else ""
            pieces = [quote_call(finished, call)]
            if turn is not None and turn.text:
                pieces.append(quote_text(turn.event, turn.text))
            return Finding.of(False, f"{call.name} in turn {call.turn} without a confirmation{words}", pieces)
        binds = args.binds.get(call.name, ())
        wrong = unproposed(finished, call, turn, binds, Spoken(args.named_by, args.original_in))
        if wrong is None and call.name in args.binds:
            said = read(next((one.text for one in reversed(finished.agent_turns) if one.event <= turn.event), ""))
            bound = [name for group in binds for name in group]
            wrong = (
                strays(said, call)
                or unheard_of(finished, said.standing, call, turn, bound)
                or contradicted(finished, said, call, binds, args.money)
            )
        if wrong is None and call.ok and call.name in args.binds:
            alike = [one for one, other in zip(writes, turns, strict=True) if other == turn and one.ok]
            wrong = unshown(finished, alike, turn, objects, args.prices)
        if wrong is not None:
            reason = f"{call.name} in turn {call.turn}: {wrong}"
            return Finding.of(False, reason, (quote_call(finished, call), quote_text(turn.event, said_in[turn.event])))
        made = (turn.event, call.name, call.arguments)
        if made in done:
            reason = f"{call.name} in turn {call.turn} was made again without another confirmation"
            return Finding.of(False, reason, (quote_call(finished, call),))
        if call.ok:
            done.append(made)
        count += 1
        evidence[quote_text(turn.event, said_in[turn.event])] = None
    written = "1 write, confirmed" if count == 1 else f"{count} writes, each confirmed"
    reason = written if count else "nothing was written"
    return Finding.of(True, reason, (piece for piece in evidence if piece.quote))


class CalledBeforeArgs(Args):
    """Arguments of `called_before`."""

    tool: ToolNames = Field(description="The tool that must have succeeded first, or several of which any counts.")
    before: ToolNames = Field(default=(), description="The tools that must wait for it.")
    effects: tuple[ToolEffect, ...] = Field(
        default=(), description="Tools with one of these effects must wait for it too."
    )

    @model_validator(mode="after")
    def _something(self) -> CalledBeforeArgs:
        if not self.before and not self.effects:
            raise ValueError("give `before` or `effects`")
        return self


def called_before(finished: FinishedEpisode, args: CalledBeforeArgs) -> Finding:
    """A tool succeeded before any call of certain others, such as authentication first; true if those never came."""
    for call in finished.calls:
        if call.name in args.tool:
            if call.ok:
                return Finding.of(True, f"{call.name} came first", (quote_call(finished, call),))
        elif call.name in args.before or call.effect in args.effects:
            reason = f"{call.name} in turn {call.turn} came before {' or '.join(args.tool)}"
            return Finding.of(False, reason, (quote_call(finished, call),))
    return Finding.of(True, "nothing that has to wait was called")


def _writes(finished: FinishedEpisode, tools: tuple[str, ...], exempt: tuple[str, ...]) -> Iterable[CallMade]:
    for call in finished.calls:
        if call.name not in exempt and (call.name in tools if tools else call.writes):
            yield call


def _answered(finished: FinishedEpisode, call: CallMade) -> UserTurn | None:
    """The user turn that a call follows: the last one, or a yes before it with the details that the user added since.

    Details are what the user says between the yes and the call, if each sentence would agree behind a yes and the agent
    has proposed nothing in the meantime. A user that reports its acts knows itself whether it agrees.
    """
    before = [turn for turn in finished.user_turns if turn.event <= call.event]
    last = before[-1] if before else None
    details: list[str] = []
    for turn in reversed(before):
        if turn.acts is not None:
            break
        if _confirms(turn):
            return turn._replace(text="\n".join([turn.text, *details])) if details else turn
        since = [one for one in finished.agent_turns if turn.event >= one.event][-1:]
        if not all(_only_asks(one.text) for one in since) or not _adds(turn):
            break
        if any(one.ok and one.writes and since[0].event < one.event < turn.event for one in finished.calls if since):
            break
        details.insert(0, turn.text)
    return last


def _only_asks(text: str) -> bool:
    """Whether a message of the agent proposes nothing: it asks for no yes, does nothing, and has no digit."""
    return not read(text).acts & {"confirm", "claim", "refuse"} and not _DIGIT.search(text)


def _adds(turn: UserTurn) -> bool:
    """Whether a user turn adds to a yes, and takes nothing of it back."""
    said = read(turn.text).sentences
    return not any(one.question or _DOUBT.search(one.plain) or not read(f"yes, {one.plain}").agrees for one in said)


def _confirms(turn: UserTurn) -> bool:
    """Whether a user turn confirms a proposal; the opening never does, because nothing had been proposed."""
    if turn.opening:
        return False
    return "confirm" in turn.acts if turn.acts is not None else read(turn.text).agrees
