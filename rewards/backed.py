"""Whether the record bears out what an agent says it has done, promises or charges, and by when, in service worlds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from typing import NamedTuple

from pydantic import Field

from simia_gym.common.text_cache import cached_by_text
from simia_gym.language import DEEDS, Claim, Promise, Sentence, Time, read, times_in
from simia_gym.record.finished_episode import AgentTurn, CallMade, FinishedEpisode
from simia_gym.rewards.finding import Finding, quote_text
from simia_gym.rewards.programs.amounts import numbers_in
from simia_gym.rewards.programs.program import Args, Texts
from simia_gym.rewards.programs.speech import shows

_UNDONE = ("reverted", "undone")
"""Deeds that take back an earlier write, and so need a further one."""
_CHARGED = ("paid", "charged")
"""Deeds that are also said of the past; the amounts of charges are looked at instead."""
_GIVEN = ("compensated", "granted", "issued", "given")
"""Deeds that hand out a voucher, a certificate or another gift."""

_EXAMPLE = re.compile(r"\be\.? ?g\b|\bexample|\bsuch as\b|\bformat")
"""What says that an id only shows how ids look."""


class BackedArgs(Args):
    """Arguments of `backed`."""

    deeds: dict[str, Texts] = Field(default_factory=dict, description="Participle to the tools that do the deed.")
    told: Texts = Field(default=(), description="Participles of deeds that an answer to the customer mentions.")
    deadlines: Texts = Field(default=(), description="Spans of time and days that the policy gives.")
    ids: re.Pattern[str] | None = Field(default=None, description="A regular expression of ids, over lower-case text.")


class _Said(NamedTuple):
    """What a message says that needs backing.

    Attributes:
        ids: Sentences that state ids, each with its ids.
        foreign: Sentences in another language.
        claims: Claims of deeds.
        denials: Sentences that say that nothing was done.
        promises: Promises.
        amounts: Amounts that are said to be charged, or are promised as a gift, each with its sentence.
        deadlines: Times within which, or by which, something happens, each with its sentence.
    """

    ids: Mapping[Sentence, Sequence[str]]
    foreign: Sequence[Sentence]
    claims: Sequence[Claim]
    denials: Sequence[Sentence]
    promises: Sequence[Promise]
    amounts: Sequence[tuple[Sentence, Decimal]]
    deadlines: Sequence[tuple[Sentence, Time]]


# Without the cache, a task that was played before takes 6% more instructions.
@cached_by_text
def _said(text: str, deeds: tuple[str, ...], ids: re.Pattern[str] | None) -> _Said:
    reading = read(text)
    promises = reading.promises(deeds)
    gifts = [(one.sentence, amount) for one in promises if one.good for amount in one.amounts]
    claims = reading.claims((*DEEDS, *_UNDONE, *deeds))
    stating = [one for one in reading.sentences if not one.question] if ids else []
    named = {one: _ids_in(one.said, ids) for one in stating if ids and not _EXAMPLE.search(one.plain)}
    return _Said(
        named, reading.foreign, claims, reading.denials, promises, [*reading.charges, *gifts], reading.deadlines
    )


@cached_by_text
def _ids_in(text: str, ids: re.Pattern[str]) -> tuple[str, ...]:
    """The ids that stand in a text, each once."""
    return tuple(dict.fromkeys(found[0].lstrip("#") for found in ids.finditer(text.lower())))


def backed(finished: FinishedEpisode, args: BackedArgs) -> Finding:
    """No deed was claimed before it was done, a certain promise was kept, and no charge or deadline is made up.

    A deed that `deeds` does not list is backed by any write. Where a claim names ids, one of them stands in such a
    call, in its answer or in what it changed. A promise is kept by a write in the same request of a
    scripted user, before it or after it, and in the whole episode with other users; that of a gift, such as a voucher,
    by one that hands out gifts. After such a write nobody says that nothing was done. An amount that is said to be
    charged, or is promised as a gift, stands in a call, an answer of a tool or the user's words, or is the sum or
    difference of two that do.
    A deadline lies in a span of `deadlines`, of an answer of a tool or of the user's words, or is a day named there.
    General claims ("all done") and reports of earlier deeds do not count, nor does a state that a tool's answer shows.
    An id that the agent states, not only as an example, stands in an answer of a tool or in the user's words.
    Nothing bears out what is not in English.
    """
    for told in finished.agent_turns:
        for reason, sentence in _unbacked(finished, told, args):
            quote = quote_text(told.event, read(told.text).quote(sentence))
            return Finding.of(False, f"in turn {told.turn} the agent {reason}", (quote,))
    return Finding.of(True, "whatever was claimed or promised was done")


def _unbacked(finished: FinishedEpisode, told: AgentTurn, args: BackedArgs) -> Iterator[tuple[str, Sentence]]:
    """What the record does not bear out in a message of the agent."""
    said = _said(told.text, (*args.deeds,), args.ids)
    if args.ids and any(said.ids.values()):
        heard = _heard(finished, told.event, "observation", "text")
        shown = {name for text in heard for name in _ids_in(text, args.ids)}
        for sentence, names in said.ids.items():
            yield from ((f"speaks of {one}, which nothing shows", sentence) for one in names if one not in shown)
    if not any(said[1:]):
        return
    for foreign in said.foreign:
        yield "said in another language what nobody can check", foreign
    writes = [call for call in finished.calls if call.ok and call.writes]
    done = [call for call in writes if call.event < told.event]
    for claim in said.claims:
        if claim.deed in (*_CHARGED, *args.told) and not claim.own:
            continue
        if shows(finished, told, claim.deed) if claim.state else claim.past:
            continue
        calls = [call for call in done[claim.deed in _UNDONE :] if _does(call, claim.deed, args)]
        about = {*said.ids.get(claim.sentence, ())}
        if claim.deed and not calls:
            yield f"claimed a deed that no call had done: {claim.deed}", claim.sentence
        elif args.ids and about and calls and not any(_concerns(finished, call, about, args.ids) for call in calls):
            yield f"claimed a deed that concerned something else than {min(about)}", claim.sentence
    same = [call for call in writes if told.request in (None, call.request)]
    if any(call.event < told.event for call in same):
        yield from (("denied what it had done", denial) for denial in said.denials)
    for promise in said.promises:
        given = [call for call in same if not promise.gift or _gives(call, args)]
        if promise.deed not in args.told and not any(_does(call, promise.deed, args) for call in given):
            yield f"promised what no call did: {promise.deed or promise.good}", promise.sentence
    known = numbers_in(_heard(finished, told.event, "call", "observation", "text")) if said.amounts else set()
    for sentence, amount in said.amounts:
        if amount and not (amount in known or any(known & {amount - one, amount + one} for one in known)):
            yield f"speaks of an amount of {amount} that nothing shows", sentence
    policy = _times(args.deadlines) if said.deadlines else []
    late = {time: one for one, time in said.deadlines if not _covered(time, policy)}
    stated = _times(_heard(finished, told.event, "observation", "text")) if late else []
    for time, sentence in late.items():
        if not _covered(time, stated):
            yield f"gives a deadline that nothing shows: {time.said}", sentence


def _times(texts: Iterable[str]) -> list[Time]:
    return list(dict.fromkeys(time for text in texts for time in times_in(read(text).words)))


def _covered(time: Time, times: Sequence[Time]) -> bool:
    return any(one.covers(time) for one in times)


def _heard(finished: FinishedEpisode, before: int, *keys: str) -> Iterator[str]:
    """What the record holds under some keys before an event, the latest first."""
    for event in reversed(finished.events[:before]):
        if event["type"] in ("message", "transition"):
            yield from (str(event.get(key)) for key in keys)


def _concerns(finished: FinishedEpisode, call: CallMade, names: Set[str], ids: re.Pattern[str]) -> bool:
    """Whether one of some ids stands in a call, in its answer or in what it changed."""
    event = finished.events[call.event]
    return any(not names.isdisjoint(_ids_in(str(event.get(key)), ids)) for key in ("call", "observation", "ops"))


def _gives(call: CallMade, args: BackedArgs) -> bool:
    return not args.deeds or any(call.name in args.deeds.get(deed, ()) for deed in _GIVEN)


def _does(call: CallMade, deed: str, args: BackedArgs) -> bool:
    return deed not in args.deeds or call.name in args.deeds[deed]
