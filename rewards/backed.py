"""Whether an agent's calls bear out what it says it has done, promises or charges: a program for service worlds."""

from __future__ import annotations

import re
from decimal import Decimal

from pydantic import Field

from simia_gym.language import read
from simia_gym.record.finished_episode import CallMade, FinishedEpisode
from simia_gym.rewards.finding import Finding, quote_text
from simia_gym.rewards.programs.program import Args, Texts
from simia_gym.rewards.programs.speech import request_before

_NUMBER = re.compile(r"(?:: |:|\$ ?|^)(\d{1,6}(?:\.\d{1,2})?)(?=[,}\]\s!?;]|\.\D|\.?$)")


class BackedArgs(Args):
    """Arguments of `backed`."""

    deeds: dict[str, Texts] = Field(default_factory=dict, description="Participle to the tools that do the deed.")
    told: Texts = Field(default=(), description="Participles of deeds that an answer to the customer mentions.")


def backed(finished: FinishedEpisode, args: BackedArgs) -> Finding:
    """No deed was claimed before it was done, whatever was promised for certain was done, and no charge is made up.

    A deed that `deeds` does not list is backed by any write. A promise is kept by a write in the same request of a
    scripted user, before it or after it, and in the whole episode with other users. An amount that is said to be
    charged stands in a call, an answer of a tool or the user's words, or is the sum or difference of two that do.
    General claims ("all done") and reports of earlier deeds do not count.
    """
    writes = [call for call in finished.calls if call.ok and call.writes]
    for told in finished.agent_turns:
        reading = read(told.text)
        for claim in reading.claims():
            if claim.past or not claim.deed or claim.deed in args.told:
                continue
            if not any(call.event < told.event and _does(call, claim.deed, args) for call in writes):
                reason = f"in turn {told.turn} the agent claimed a deed that no call had done: {claim.deed}"
                return Finding.of(False, reason, (quote_text(told.event, reading.quote(claim.sentence)),))
        request = request_before(finished, told.event)
        for promise in reading.promises:
            if promise.deed in args.told:
                continue
            same = (call for call in writes if request in (None, request_before(finished, call.event)))
            if not any(_does(call, promise.deed, args) for call in same):
                reason = f"in turn {told.turn} the agent promised what no call did: {promise.deed or promise.good}"
                return Finding.of(False, reason, (quote_text(told.event, reading.quote(promise.sentence)),))
        if reading.charges:
            known = _amounts(finished, told.event)
            for sentence, amount in reading.charges:
                if amount and not any(known & {amount, amount - one, amount + one} for one in known):
                    reason = f"in turn {told.turn} the agent speaks of a charge of {amount} that nothing shows"
                    return Finding.of(False, reason, (quote_text(told.event, reading.quote(sentence)),))
    return Finding.of(True, "whatever was claimed or promised was done")


def _amounts(finished: FinishedEpisode, before: int) -> set[Decimal]:
    """The numbers of JSON and the amounts of money in calls, answers of tools and the user's words before an event."""
    heard = [event for event in finished.events[:before] if event["type"] in ("message", "transition")]
    texts = (str(event.get(key)) for event in heard for key in ("call", "observation", "text"))
    return {Decimal(number) for text in texts for number in _NUMBER.findall(text)}


def _does(call: CallMade, deed: str, args: BackedArgs) -> bool:
    return deed not in args.deeds or call.name in args.deeds[deed]
