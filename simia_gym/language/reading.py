"""The one reader of English: what a message says.

`read` is the only entry point. Users and rewards ask the same remembered `Reading`, so that a sentence which a customer
takes for a refusal is a refusal for the reward too. The patterns of conversation stand in the other modules of this
package and nowhere else; a domain adds words (details, participles, values), never patterns of conversation.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache

from simia_gym.language.claim import DEEDS, Claim, claims_in
from simia_gym.language.consent import consents
from simia_gym.language.conversation import Act, Said, understand
from simia_gym.language.numbers import numbers
from simia_gym.language.text import Sentence, sentences

_LONG = 10_000


@dataclass(frozen=True)
class Reading:
    """What a message says. Everything beyond its sentences is worked out when it is first asked for.

    Attributes:
        text: The message as it was said.
        sentences: Its sentences.
    """

    text: str
    sentences: tuple[Sentence, ...]

    @cached_property
    def words(self) -> str:
        """The whole message in normal form, without markup and list markers."""
        return " ".join(sentence.plain for sentence in self.sentences)

    @cached_property
    def numbers(self) -> frozenset[tuple[Decimal, bool]]:
        """The numbers in it, each with whether it is a percentage; ids, dates and words hold none."""
        return numbers(self.words)

    @cached_property
    def said(self) -> tuple[Said, ...]:
        """What each sentence does."""
        return tuple(understand(sentence) for sentence in self.sentences)

    @cached_property
    def acts(self) -> frozenset[Act]:
        """What the message does."""
        return frozenset[Act]().union(*(said.acts for said in self.said))

    @property
    def refusals(self) -> tuple[Sentence, ...]:
        """The sentences that say that something cannot or will not be done."""
        return tuple(said.sentence for said in self.said if "refuse" in said.acts)

    def claims(self, deeds: tuple[str, ...] = ()) -> list[Claim]:
        """Find the finished deeds that it claims.

        Args:
            deeds: Participles such as ``cancelled``; where given, only they and general claims ("all done") count.
        """
        unknown = tuple(deed for deed in deeds if deed not in DEEDS)
        found = (claims_in(said.sentence, unknown) if unknown else said.claims for said in self.said)
        return [claim for claims in found for claim in claims if not deeds or claim.deed in ("", *deeds)]

    @cached_property
    def agrees(self) -> bool:
        """Whether the words, said by a user, agree to what was proposed."""
        return consents(self.sentences)

    def quote(self, sentence: Sentence) -> str:
        """A sentence as it stands in the message; the message itself where JSON wraps it in other characters."""
        return sentence.said if sentence.said in self.text else self.text


def read(text: str) -> Reading:
    """Read a message.

    Args:
        text: What was said, by an agent or a user, in any wrapping.

    Returns:
        What it says, remembered for the texts that were read last.
    """
    return _remembered(text) if len(text) <= _LONG else _read(text)


def _read(text: str) -> Reading:
    return Reading(text, sentences(text))


_remembered = lru_cache(maxsize=1024)(_read)
