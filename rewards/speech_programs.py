"""Checks on what the agent told the user. Only words that were delivered count."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from simia_gym.rewards.finding import Finding, quote_call, quote_text
from simia_gym.rewards.program import Args, Texts
from simia_gym.rewards.refusal import refusal_in
from simia_gym.rewards.wording import Reading, contains_plainly, normal, sentences, wanted
from simia_gym.trace import Trace
from simia_gym.types import Evidence

Mode = Literal["words", "substring"]


class SaysArgs(Args):
    """Arguments of `says`."""

    all: Texts = Field(default=(), description="Texts that must all have been told.")
    any: Texts = Field(default=(), description="Texts of which one must have been told.")
    mode: Mode = Field(default="words", description="`words` (numbers as numbers) or `substring` (tau2's rule).")

    @model_validator(mode="after")
    def _something(self) -> SaysArgs:
        if not self.all and not self.any:
            raise ValueError("give `all` or `any`")
        return self


def says(trace: Trace, args: SaysArgs) -> Finding:
    """The agent told the user the given texts; the value is the share of them that was told."""
    found = {text: _find(trace, text, args.mode) for text in (*args.all, *args.any)}
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
    return Finding(met / parts, f"the user was not told {', '.join(missing)}", evidence)


class NotSaysArgs(Args):
    """Arguments of `not_says`."""

    any: Texts = Field(description="Texts of which none may be told.")
    mode: Mode = Field(default="words", description="As in `says`.")


def not_says(trace: Trace, args: NotSaysArgs) -> Finding:
    """The agent told the user none of the given texts."""
    for text in args.any:
        piece = _find(trace, text, args.mode)
        if piece is not None:
            return Finding.of(False, f"the user was told {text!r}", (piece,))
    return Finding.of(True, "nothing of what must not be told was told")


class RefusedArgs(Args):
    """Arguments of `refused`."""

    tool_fields: ClassVar[tuple[str, ...]] = ("tools",)

    about: Texts = Field(default=(), description="Texts of which one must stand in the same message as the refusal.")
    by_transfer: bool = Field(default=False, description="Whether a successful terminal tool counts as refusing.")
    tools: Texts = Field(default=(), description="The tools that count for that; all terminal ones if none are named.")
    cues: Texts = Field(default=(), description="Further phrases that count as refusing.")


def refused(trace: Trace, args: RefusedArgs) -> Finding:
    """The agent told the user that it cannot or will not do what was asked."""
    cues = tuple(normal(cue) for cue in args.cues)
    elsewhere: Evidence | None = None
    for told, reading in zip(trace.told, _readings(trace), strict=True):
        sentence = refusal_in(told.text, cues)
        if sentence is None:
            continue
        piece = quote_text(told.event, sentence)
        if not args.about or any(wanted(text).stands_in(reading) for text in args.about):
            return Finding.of(True, "the agent refused", (piece,))
        elsewhere = piece
    if args.by_transfer:
        for call in trace.calls:
            if call.ok and (call.name in args.tools if args.tools else call.terminal):
                return Finding.of(True, f"the agent handed over with {call.name}", (quote_call(trace, call),))
    if elsewhere is not None:
        about = " or ".join(repr(text) for text in args.about)
        return Finding.of(False, f"the agent refused something, but not in a message about {about}", (elsewhere,))
    return Finding.of(False, "the agent never told the user that it cannot or will not do this")


def _readings(trace: Trace) -> list[Reading]:
    readings: list[Reading] | None = trace.memo.get(_readings)
    if readings is None:
        readings = trace.memo[_readings] = [Reading(told.text) for told in trace.told]
    return readings


def _find(trace: Trace, text: str, mode: Mode) -> Evidence | None:
    want = wanted(text)
    for told, reading in zip(trace.told, _readings(trace), strict=True):
        if mode == "substring":
            if contains_plainly(told.text, text):
                parts = (part for part in sentences(told.text) if contains_plainly(part, text))
                return quote_text(told.event, next(parts, told.text))
        elif want.stands_in(reading):
            parts = (part for part in sentences(told.text) if want.stands_in(Reading(part)))
            return quote_text(told.event, next(parts, told.text))
    return None
