"""The entry point of the language package: `read` returns what a message says.

User simulators and rewards share the same cached `Reading`, so that they agree, for example, on whether a sentence is a
refusal. All patterns of conversation are in this package; a domain adds only words (details, participles, values).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import accumulate

from simia_gym.common.text_cache import cached_by_text
from simia_gym.language.alternatives import alternatives
from simia_gym.language.answer import Asserted, asserted
from simia_gym.language.claim import Claim, claims_in, denies_all
from simia_gym.language.consent import consents
from simia_gym.language.conversation import Act, Said, understand
from simia_gym.language.denial import after_withdrawal, disowns, parts, turns, undenied
from simia_gym.language.foreign import foreign
from simia_gym.language.numbers import amounts_in, numbers_in
from simia_gym.language.promise import Promise, charges_in, promises_in
from simia_gym.language.refusal import refuses, withdraws
from simia_gym.language.text import Sentence, sentences, spaced, unwrapped
from simia_gym.language.times import Time, deadlines_in
from simia_gym.language.visible import visible, without_struck
from simia_gym.language.vocabulary import DEEDS

_FAR = 4_000
"""Characters at the end of a message that a customer reads before the answer."""
_CLAUSE = re.compile(r"[,;:()]|\b(?:but|so|because|while|since)\b")
_COMMITS = re.compile(
    r"\b(?:(?:i|we|it|that)(?:'ll| (?:will|shall|would|should))|(?:shall|should) (?:i|we)|going to|let(?: me| us|'s))\b"
)
_SOURCE = re.compile(r"\bfrom\b.{1,80}(?=\bto\b)|\b(?:instead of|rather than|in place of|unlike)\b.*")
"""What something is taken from, or stands in place of."""
_MEANT = re.compile(r"\b(?:will|shall|should|would)\b")
_TOLD = re.compile(
    r"\b(?:if|whether|contains?|shows?|belongs?|see|found|saw|told|said|look|talk|discuss|check"
    r"|(?:i|you|we) (?:\w+ )?\w+ed)\b"
)
_UNTIL = re.compile(r"\b(?:until|till|unless|before|without)\b.*\b(?:you|your)\b")
"""Words of a refusal that only waits for the user: "I won't do anything until I hear back from you"."""
_STATED = re.compile(r".{0,99}?\d\S* (?:\w+ ){0,3}?(?<!it )(?<!that )(?:is|are|was|were|has|have|had)\b")
"""A statement about a value, which has a digit: "B2 is pending"."""


@dataclass(frozen=True)
class Reading:
    """What a message says. All properties except the fields are computed on first use.

    Attributes:
        disguised: How many characters of the message are hidden, or only look like the letters as which they are read.
    """

    text: str
    sentences: tuple[Sentence, ...]
    disguised: int = 0

    @cached_property
    def words(self) -> str:
        """The whole message in normalised form, without markup and list markers."""
        return " ".join(sentence.plain for sentence in self.sentences)

    @cached_property
    def spaced(self) -> str:
        """The whole message in normalised form, with spaces in the place of the hyphens at words."""
        return spaced(self.words)

    @cached_property
    def numbers(self) -> frozenset[tuple[Decimal, bool]]:
        """The numbers in it, each as (value, whether it is a percentage); ids and dates do not count."""
        return numbers_in(self.words)

    @cached_property
    def amounts(self) -> tuple[Decimal, ...]:
        """The amounts of money in it."""
        return tuple(amount for sentence in self.sentences for amount in amounts_in(sentence.plain))

    @cached_property
    def foreign(self) -> tuple[Sentence, ...]:
        """The sentences in another language than English, which do nothing."""
        return tuple(sentence for sentence in self.sentences if foreign(sentence))

    @cached_property
    def said(self) -> tuple[Said, ...]:
        """The dialogue acts of each sentence."""
        foreign = frozenset(self.foreign)
        return tuple(understand(one) for one in self.sentences if not (foreign and one in foreign))

    @cached_property
    def acts(self) -> frozenset[Act]:
        """The dialogue acts of the message."""
        return frozenset[Act]().union(*(said.acts for said in self.said))

    @property
    def refusals(self) -> tuple[Sentence, ...]:
        """The sentences that refuse something."""
        return tuple(said.sentence for said in self.said if "refuse" in said.acts)

    @cached_property
    def standing(self) -> Reading:
        """The message without what is crossed out or unseen, what it refuses, spares or takes back, and denies.

        What stands far before the end is unseen, too.
        """
        left = without_struck(self.text)
        shown = self if left == self.text else read(left)
        if len(shown.text) > _FAR:
            ends = accumulate((len(sentence.plain) for sentence in reversed(shown.sentences)), initial=0)
            near = sum(distance <= _FAR for distance in ends)
            shown = replace(shown, sentences=shown.sentences[-near:])
        refused, kept = shown.refusals, list[Sentence]()
        real = True
        for one in shown.sentences:
            rest = after_withdrawal(one.plain)
            if disowns(one):
                kept, real = [], False
            elif rest is not None:
                kept = [replace(one, plain=rest)]
            elif one not in refused:
                real = real or turns(one.plain)
                kept += [one] if real else []
            else:
                kept = [] if withdraws(one) and not _UNTIL.search(one.plain) else kept
                later = (replace(one, plain=part) for part in parts(one.plain)[1:])
                kept += [part for part in later if not refuses(part)]
        standing = undenied(kept, shown.sentences)
        return shown if standing == shown.sentences else replace(shown, sentences=standing)

    @cached_property
    def parts(self) -> tuple[Reading, ...]:
        """Each sentence as a message of its own."""
        return tuple(Reading(one.said, (one,)) for one in self.sentences)

    def claims(self, deeds: tuple[str, ...] = ()) -> list[Claim]:
        """Find the claims of completed actions.

        Args:
            deeds: Participles such as ``cancelled``; if given, only they and general claims ("all done") count.
        """
        unknown = tuple(sorted(deed for deed in {*deeds}.difference(DEEDS) if deed in self.words))
        found = (claims_in(said.sentence, unknown) if unknown else said.claims for said in self.said)
        return [claim for claims in found for claim in claims if not deeds or claim.deed in ("", *deeds)]

    @property
    def denials(self) -> tuple[Sentence, ...]:
        """The sentences that say that nothing at all was done."""
        return tuple(sentence for sentence in self.sentences if denies_all(sentence))

    def promises(self, deeds: tuple[str, ...] = ()) -> list[Promise]:
        """Find what is promised for certain; nothing if the message asks for a yes, on which all of it depends.

        Args:
            deeds: Participles such as ``lent``, beside those that are known.
        """
        if "confirm" in self.acts:
            return []
        return [promise for said in self.said for promise in promises_in(said.sentence, deeds)]

    @cached_property
    def charges(self) -> tuple[tuple[Sentence, Decimal], ...]:
        """The amounts that the message says are charged, each with its sentence; nothing if it asks for a yes."""
        if "confirm" in self.acts:
            return ()
        return tuple((said.sentence, amount) for said in self.said for amount in charges_in(said.sentence))

    @cached_property
    def deadlines(self) -> tuple[tuple[Sentence, Time], ...]:
        """The times within which, or by which, something happens, each with its sentence."""
        return tuple((said.sentence, time) for said in self.said for time in deadlines_in(said.sentence))

    def asserted(self, kind: str, about: str = "") -> Asserted:
        """Find the values of a kind that the message asserts, as the answer to a question.

        Args:
            kind: A regular expression of what a value looks like, over lower-case text.
            about: A regular expression of what names the value, such as the word "total"; anything does if empty.
        """
        found = self._answers.get((kind, about))
        if found is None:
            found = asserted(self.sentences, re.compile(kind), re.compile(about) if about else None)
            self._answers[kind, about] = found
        return found

    @cached_property
    def _answers(self) -> dict[tuple[str, str], Asserted]:
        """What was found, for user and reward, who ask the same; otherwise a step takes 2 to 4% more instructions."""
        return {}

    @cached_property
    def agrees(self) -> bool:
        """Whether the message, if said by a user, consents to the agent's proposal."""
        return consents(self.sentences)

    @cached_property
    def places(self) -> tuple[tuple[Reading, ...], ...]:
        """The texts in each place of the message in which several stand."""
        return tuple(tuple(map(_part, several)) for several in alternatives(self.sentences))

    def leaves_open(self, named: Callable[[Reading], tuple[bool, bool]]) -> bool:
        """Whether the message puts another value into the place of one: "to A or B", "to A. To B.".

        Args:
            named: Whether a text names the value, and whether it names another one of its kind.
        """
        return any({(True, False), (False, True)} <= set(map(named, several)) for several in self.places)

    def replaces(self, named: Callable[[Reading], tuple[bool, bool]]) -> bool:
        """Whether the message proposes another value beside one: "A, no wait, B", "A plus B", "Correction: B".

        A value that is only spoken of is none: "B is pending", "you told me B".

        Args:
            named: Whether a text names the value, and whether it names another one of its kind.
        """
        later = False
        for sentence in self.sentences:
            commits = _COMMITS.search(sentence.plain) is not None
            own = named(_part(sentence.plain))[0]
            for clause in map(_part, _CLAUSE.split(sentence.plain) if own else [sentence.plain]):
                later = later or named(clause)[0]
                if (later or commits) and named(_part(_proposed(clause.text)))[1]:
                    return True
        return False

    def quote(self, sentence: Sentence) -> str:
        """A verbatim quote of a sentence; the whole message if JSON escapes the sentence differently."""
        return sentence.said if sentence.said in self.text else self.text


def _proposed(clause: str) -> str:
    """What a clause may propose: not its source, and nothing if it only says what is, or was."""
    only_told = not _MEANT.search(clause) and (_TOLD.search(clause) or _STATED.match(clause))
    return "" if only_told else _SOURCE.sub("", clause)


def _part(text: str) -> Reading:
    """A normalised part of a message as a message of its own."""
    return Reading(text, (Sentence(text, text),))


# Without the cache, a step of retail costs 50% more.
@cached_by_text
def read(text: str) -> Reading:
    """Read a message of an agent or a user, which may be wrapped in JSON or markup; the latest texts are cached."""
    shown = visible(unwrapped(text))
    return Reading(text, sentences(shown.text), shown.disguised)
