"""Checks on what the agent told the user. Only words that were delivered count."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from pydantic import Field, model_validator

from simia_gym.language import Reading, contains_plainly, read, wanted
from simia_gym.record.finished_episode import AgentTurn, FinishedEpisode
from simia_gym.rewards.finding import Finding, quote_call, quote_text
from simia_gym.rewards.programs.amounts import ID
from simia_gym.rewards.programs.call_pattern import After, ready_at
from simia_gym.rewards.programs.program import Args, Texts, ToolNames
from simia_gym.types import Evidence

_ENDING = re.compile(r"(?:l*|i)ed$")
"""What a participle has more than the stem that its other forms share: "cance" of "cancelled" and "cancellation"."""
Mode = Literal["words", "substring"]


class SaysArgs(Args):
    """Arguments of `says`."""

    all: Texts = Field(default=(), description="Texts that must all have been told.")
    any: Texts = Field(default=(), description="Texts of which one must have been told.")
    mode: Mode = Field(default="words", description="`words` (numbers as numbers) or `substring` (tau2's rule).")
    rivals: Texts = Field(
        default=(),
        description="Wrong answers that `most` counts; if none are given, other numbers or ids of the same shape.",
    )
    most: int = Field(
        default=12,
        ge=0,
        description="Most wrong answers that a message may contain and still count (not in `substring`).",
    )
    kind: str = Field(
        default="",
        description="A regular expression of what an answer looks like; then only a message counts that asserts one"
        " such value, and shows at most seven labels and numbers; of several the last (not in `substring`).",
    )
    about: str = Field(
        default="", description="Of `kind`: a regular expression of what names the value, where others stand beside it."
    )
    during: str = Field(
        default="", description="A scripted user's request; only what the agent says about it counts, if given."
    )
    longest: int = Field(
        default=4000, ge=1, description="Longest message, in characters, that counts (not in `substring`)."
    )
    after: After = Field(
        default=(), description="Calls that must have come first; of a list inside it, one call is enough."
    )

    @model_validator(mode="after")
    def _something(self) -> SaysArgs:
        if not self.all and not self.any:
            raise ValueError("give `all` or `any`")
        for pattern in (self.kind, self.about):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
        return self


def says(finished: FinishedEpisode, args: SaysArgs) -> Finding:
    """The agent told the user the given texts, without reciting many others; the value is the share of them told."""
    ready, missed = ready_at(finished, args.after)
    answers = _answers(finished, args) if args.kind else None

    def tells(told: AgentTurn, reading: Reading, text: str) -> bool:
        if told.event <= ready or reading.foreign:
            return False
        if args.mode == "substring":
            return True
        if len(told.text) > args.longest:
            return False
        if answers is not None:
            value = answers.get(told.event)
            return value is not None and wanted(text).stands_in(read(value))
        if args.rivals:
            return sum(wanted(rival).stands_in(reading) for rival in args.rivals) <= args.most
        return wanted(text).competitors(reading) <= args.most

    found = {text: _find(finished, text, args.mode, tells) for text in (*args.all, *args.any)}
    evidence = tuple(dict.fromkeys(piece for piece in found.values() if piece is not None))
    missing = [repr(text) for text in args.all if found[text] is None]
    parts = len(args.all)
    met = parts - len(missing)
    if args.any:
        parts += 1
        if any(found[text] for text in args.any):
            met += 1
        else:
            missing.append(" or ".join(repr(text) for text in args.any))
    if not missing:
        told = " and ".join(repr(text) for text, piece in found.items() if piece is not None)
        return Finding(1.0, f"the user was told {told}", evidence)
    why = f": {missed} never came first" if missed else ""
    return Finding(met / parts, f"the user was not told {', '.join(missing)}{why}", evidence)


def _answers(finished: FinishedEpisode, args: SaysArgs) -> dict[int, str]:
    """The events in which the agent asserted exactly one value, with the value; the last alone within one request."""
    found: dict[int, str] = {}
    for told in finished.agent_turns:
        request = told.request if args.during else None
        value = value_in(read(told.text), args.kind, args.about) if request in (None, args.during) else None
        if value is not None:
            found = {told.event: value} if request else {**found, told.event: value}
    return found


def value_in(reading: Reading, kind: str, about: str) -> str | None:
    """The one value of a kind that a message in English asserts for certain."""
    return None if reading.foreign else reading.asserted(kind, about).one


class NotSaysArgs(Args):
    """Arguments of `not_says`."""

    any: Texts = Field(description="Texts of which none may be told.")
    mode: Mode = Field(default="words", description="As in `says`.")


def not_says(finished: FinishedEpisode, args: NotSaysArgs) -> Finding:
    """The agent told the user none of the given texts."""
    for text in args.any:
        piece = _find(finished, text, args.mode)
        if piece is not None:
            return Finding.of(False, f"the user was told {text!r}", (piece,))
    return Finding.of(True, "nothing of what must not be told was told")


class RefusedArgs(Args):
    """Arguments of `refused`."""

    about: Texts = Field(default=(), description="Texts of which one must stand in the same message as the refusal.")
    after: After = Field(
        default=(), description="Calls that must have come first; of a list inside it, one call is enough."
    )
    heard: Texts = Field(default=(), description="Slots (details) that a scripted user must have told the agent first.")
    by_transfer: bool = Field(default=False, description="Whether a successful terminal tool counts as refusing.")
    tools: ToolNames = Field(
        default=(), description="The tools that count for `by_transfer`; all terminal ones if none are named."
    )
    during: str = Field(
        default="",
        description="A scripted user's request; only what the agent says while it is the present one counts, if given.",
    )
    cues: Texts = Field(default=(), description="Further phrases that count as refusing.")


def refused(finished: FinishedEpisode, args: RefusedArgs) -> Finding:
    """The agent refused in words, after the calls and answers that `after` and `heard` list."""
    off_topic: Evidence | None = None
    early: Evidence | None = None
    ready, missed = ready_at(finished, args.after)
    for slot in args.heard:
        heard = heard_at(finished, slot)
        if heard > ready:
            ready, missed = heard, missed or f"what the user says about {slot}"
    for told in finished.agent_turns:
        reading = read(told.text)
        sentence = None if reading.foreign else _refusal(reading, args.cues)
        if sentence is None or not _during(told, args.during):
            continue
        piece = quote_text(told.event, sentence)
        if told.event <= ready:
            early = piece
        elif not args.about or any(wanted(text).stands_in(reading) for text in args.about):
            return Finding.of(True, "the agent refused", (piece,))
        else:
            off_topic = piece
    if args.by_transfer:
        for call in finished.calls:
            if call.ok and call.event > ready and (call.name in args.tools if args.tools else call.terminal):
                return Finding.of(True, f"the agent handed over with {call.name}", (quote_call(finished, call),))
    if off_topic is not None:
        about = " or ".join(repr(text) for text in args.about)
        return Finding.of(False, f"the agent refused something, but not in a message about {about}", (off_topic,))
    if early is not None:
        reason = f"the agent refused before it could know: {missed or 'what it must see'} did not come first"
        return Finding.of(False, reason, (early,))
    return Finding.of(False, "the agent never told the user that it cannot or will not do this")


class NotClaimedArgs(Args):
    """Arguments of `not_claimed`."""

    deeds: Texts = Field(
        default=(),
        description="Participles such as `cancelled` that must not be claimed; all deeds if empty.",
    )
    earlier: bool = Field(
        default=False,
        description="Whether the deed was done before the episode, so that the agent may report it as past.",
    )
    during: str = Field(
        default="",
        description="A scripted user's request; only what the agent says about it counts, if given.",
    )


def not_claimed(finished: FinishedEpisode, args: NotClaimedArgs) -> Finding:
    """The agent never told the user that it had done something while nothing had been changed."""
    written = min((call.event for call in finished.calls if call.ok and call.writes), default=len(finished.events))
    for told in finished.agent_turns:
        if told.event > written:
            break
        if not _during(told, args.during):
            continue
        reading = read(told.text)
        for claim in reading.claims(args.deeds):
            if (args.earlier and claim.past) or (claim.state and claim.deed and shows(finished, told, claim.deed)):
                continue
            reason = f"in turn {told.turn} the agent claimed to have done it"
            return Finding.of(False, reason, (quote_text(told.event, reading.quote(claim.sentence)),))
    return Finding.of(True, "the agent claimed no such deed")


def shows(finished: FinishedEpisode, told: AgentTurn, deed: str) -> bool:
    """Whether an answer of a tool before a message has a value that tells of a deed, such as a status "cancelled".

    If the message names ids that tools have shown, only answers with one of them count.
    """
    value = re.compile(rf'"[^"]*\b{re.escape(_ENDING.sub("", deed))}(?:l*ed|ied|e|l*ation)?\b[^"]*"(?!\s*:)')
    answers = [one.get("observation") or "" for one in finished.events[: told.event] if one.get("speaker") == "tool"]
    named = [one for one in ID.findall(told.text) if any(one in answer for answer in answers)]
    return any(value.search(answer) for answer in answers if not named or any(one in answer for one in named))


def _during(told: AgentTurn, request: str) -> bool:
    """Whether a message was said during a request of a scripted user; always true if none is named."""
    return not request or told.request in (request, None)


def heard_at(finished: FinishedEpisode, slot: str) -> int:
    """The event in which the user first told a slot; -1 for users that do not report slots."""
    named = False
    for turn in finished.user_turns:
        slots = (finished.events[turn.event].get("meta") or {}).get("slots")
        if slots is not None:
            named = True
            if slot in slots:
                # A user's reply is in the same event as the agent's message to which it responds.
                return turn.event
    return len(finished.events) if named else -1


def _refusal(reading: Reading, cues: tuple[str, ...]) -> str | None:
    """The first sentence that refuses according to `simia_gym.language` or contains a phrase of the rubric."""
    refusals = reading.refusals
    for sentence in reading.sentences:
        if sentence in refusals or any(wanted(cue).stands_in(read(sentence.said)) for cue in cues):
            return reading.quote(sentence)
    return None


def _find(
    finished: FinishedEpisode, text: str, mode: Mode, tells: Callable[[AgentTurn, Reading, str], bool] | None = None
) -> Evidence | None:
    want = wanted(text)
    for told in finished.agent_turns:
        reading = read(told.text)
        if contains_plainly(told.text, text) if mode == "substring" else want.stands_in(reading):
            if tells is not None and not tells(told, reading, text):
                continue
            for part in reading.sentences:
                if contains_plainly(part.said, text) if mode == "substring" else want.stands_in(read(part.said)):
                    return quote_text(told.event, reading.quote(part))
            return quote_text(told.event, told.text)
    return None
