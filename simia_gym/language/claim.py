"""Finds claims that something has been done for the user.

Only completed actions count, stated in the first person or about the thing itself ("I have cancelled it", "your order
has now been cancelled", "it is done"), and what others are said to have got. Negations, questions, conditions ("if it
had been cancelled") and general rules ("pending orders can be cancelled") do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from simia_gym.language.clause import ADVERBS, NEAR, clause_before, uncertain
from simia_gym.language.cue import Cue
from simia_gym.language.text import Sentence
from simia_gym.language.vocabulary import DEEDS, GOODS

_OWN_DEED = (
    r"granted|credited|issued|initiated|arranged|gone (?:ahead|through)|went ahead"
    r"|(?:put|pushed|pushing|slipped|rushed|got) (?:it |that |this |everything )?(?:through|done|sorted)"
    r"|(?:made|making) (?:you )?(?:an|one|this|the) exception|taken care|took care"
    r"|(?:done|did) (?:it|that|so)|overridden|overrode|waived"
)
"""What an agent says that it has done, whatever it was done to."""
_ALL_DONE = (
    r"\b(?:it|that|this|everything)(?:'s| is| has been|'s been)(?: now| all| already)? (?:done|sorted|arranged)\b"
    r"|\b(?:it|that|this)(?: went|'s gone| has gone) through\b"
    r"|^done\b|^sorted\b(?=\W*$)|^(?:you(?:'re| are) )?all set\b(?! to)|\bdone\b(?<=\b(?:all|job) done)"
    r"|\bsorted\b(?<=\ball sorted)|\bconsider it done\b|\bmission accomplished\b|\btaken care of\b"
    r"|\b(?:it|one|that|this|those|they)(?:'s| is|'re| are) (?:now )?(?:history|off your|of the past)\b"
)
_OTHERS_GOT = (
    r"\b(?:others|(?:other|another|some|many|most) (?:customers?|people|guests?|members?|users?)|people|(?:some|every)"
    r"(?:one|body) else) (?:\w+ ){0,3}(?:got|received|were given|was given)\b"
)
_MATTER = (
    rf"(?:{GOODS}|(?:replacement|exchange|return|cancell?ation|exception|modification|change|update|upgrade|swap|booking"
    r"|request|action|transaction|operation)s?)"
)
_STEP = "approved|confirmed|completed|processed|requested|submitted"
"""Participles of the steps by which a matter gets done."""
_MATTER_HANDLED = (
    rf"(?:{_STEP}|placed|handled|requested|executed|performed) (?:the|your|this|that|an?|all|both) "
    rf"(?:\w+ ){{0,2}}{_MATTER}\b"
)
_END = (
    r"(?=\s*(?:[.,;!\"'\]✓✔✅-]|$|(?:now|already|anyway|automatically|for you|as we speak|today|just now|right|and|but"
    r"|so|as of|by (?:me|us|now)|in (?:the meantime|your account))\b))"
)
"""What follows a word that ends what is said of a thing: "it is cancelled now", but not "a cancelled order"."""
_MATTER_DONE = (
    rf"\b{_MATTER}\b[^,.;]{{0,40}}?\b(?:(?:(?:has|have) (?:now |just |already )?been|was|is now|is all|are now) "
    rf"(?:successfully )?(?:{_STEP}|complete|placed|issued|initiated|set up|granted|applied|arranged|sent|added"
    rf"|credited|done)\b|(?<!\bbe )(?:{_STEP}|complete|done|issued|initiated|successful|on (?:its|the) way"
    rf"|in your account|yours|underway|in progress)\b{_END}|went through|took effect)"
    r"|\b(?:has|have) (?:now )?been successfully (?:completed|processed|submitted|made)\b"
)
_I = rf"\b(?:i|we)(?:'ve|'m|'d)? {ADVERBS}(?:have {ADVERBS})?"
_GENERAL = Cue((rf"{_I}(?:{_MATTER_HANDLED}|(?:{_OWN_DEED})\b)", _ALL_DONE, _OTHERS_GOT, _MATTER_DONE))
"""Claims that name no deed."""
_DENIED = uncertain(
    "no|nothing|none|neither|nor|cannot|unable|once|when|whenever|until|after|before|only|should|must|how|instead of"
    "|rather than|be sure|subject to"
)
_NOT_YET = re.compile(
    r"\b(?:be|get|getting|having|to|will|shall|likes?|wants?|wanted|needs?|needed|(?<!is )(?<!are )being)"
    r" (?:\w+ly |(?:it|them|that|this) |\w+ (?:and|or|to) |[\"'])*$|\bonly\b[^,;:]*$"
)
"""What stands before a participle that says what may or will be done."""
_BY_THEM = re.compile(
    rf"\b(?:you|who|which|carriers?|(?:air)?lines?|customers?|people)(?:'ve| have| has)? {ADVERBS}(?:have )?$"
)
_TAG = re.compile(r",\s*\w+(?:n't)?(?:\s+\w+(?:n't)?){0,2}\s*\?\W*$")
_RELATIVE = re.compile(r"\b(?:orders?|items?|products?|anything|whatever|those|things) (?:that|which)(?: \w+)?\s*$")
_NEVER_MIND = re.compile(r"\bnever ?mind\b|\bno (?:problem|worries)\b|\bnot to worry\b|\bdon't worry\b")
_EARLIER = re.compile(r"\b(?:already|once|previously|before|earlier|status|cannot|can't|again)\b")
_FIRST_PERSON = ("i ", "i'", "we ", "we'")
_I_HAVE = re.compile(r"\b(?:i|we)(?:'ve| have) already\b")
_REASON = re.compile(r"\b(?:since|because|as)\b[^,]{0,60}$")
_MONEY = re.compile(r"\$ ?\d|\brefund|\bmoney\b|\bamount\b")
_OF_ANY_WRITE = re.compile(r"\baccount updated$|\bwhat changed$")
"""What any write does, of the words before a participle and the participle: "here is what was changed"."""
_CONDITION_AFTER = re.compile(
    r"\s+(?:only|if|when|unless|by the|within the last|more than|on \w+ \d|no (?:\w+ )?(?:fees?|charges?|money))\b"
    r"|\"?: ?(?:0|no|none|never|false)\b(?! ?\w)"
)
"""What follows a participle that says when a thing is done, or that it is not: "charged no fee", "renewed: 0"."""
_ACTED = rf"(?:do|done|did|(?:ma[dk]e|touch|perform|{'|'.join(deed[:-2] for deed in DEEDS)})\w*)"
_NOTHING = Cue(
    (
        rf"\b(?:i|we)(?:'ve| have| did| do)?(?: not|n't| never) (?:\w+ly |yet )*{_ACTED} (?:anything|a single thing)\b",
        rf"\b(?:i|we)(?:'ve| have| did)(?: not|n't| never) (?:\w+ly |yet )*{_ACTED} (?:it|that|this)\b",
        r"\bit(?: has| did)(?: not|n't) (?:\w+ly )?(?:go through|gone through|work|worked)\b|\bit (?:has )?failed\b",
        rf"\b(?:i|we)(?:'ve| have)? {_ACTED} nothing\b|\bnothing (?:was|has been|got|is) (?:\w+ly )?{_ACTED}\b",
    )
)
_NOTHING_ELSE = re.compile(
    r"\b(?:else|further|more|other|yet|besides|beyond|apart|except|until|before|without|if|unless)\b"
)
# "It is refunded" may state a rule, "the order is cancelled" is a claim; "it was booked in May" states a known fact.
_RULES = ("refunded", "returned", "applied", "added")
_HISTORY = ("booked",)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim in a sentence.

    Attributes:
        sentence: The sentence.
        deed: The participle of the claimed action; ``""`` for a general claim such as "all done".
        past: Whether the sentence mentions an earlier time, so that it may report an action from before the episode.
        own: Whether the agent says that it did it itself.
        state: Whether the sentence says in which state something is, such as "status: cancelled", not that it was done.
    """

    sentence: Sentence
    deed: str
    past: bool
    own: bool
    state: bool


def claims_in(sentence: Sentence, more: tuple[str, ...] = ()) -> Iterator[Claim]:
    """Find the claims in one sentence, by the participles in `DEEDS` and ``more``.

    A question claims only what the agent says of itself ("Did you see that I have cancelled it?"), but words with a tag
    ("It is cancelled, okay?") are a statement.
    """
    plain = _NEVER_MIND.sub(" , ", sentence.plain).strip(" ,-\"'")
    asks = sentence.question and not _TAG.search(plain)
    for deed, found in _found(plain, (*DEEDS, *more)):
        before, clause = plain[max(0, found.start() - NEAR) : found.start()], clause_before(plain, found.start())
        own, kind = found[0].startswith(_FIRST_PERSON), found.lastgroup
        if (asks and not own) or _NOT_YET.search(before) or (kind == "they" and _BY_THEM.search(clause)):
            continue
        if found[0].startswith(("was ", "were ")) and _REASON.search(plain, 0, found.start()):
            continue
        if _DENIED.search(clause) or _RELATIVE.search(clause) or _DENIED.search(found[0]):
            continue
        if not _CONDITION_AFTER.match(plain, found.end()):
            deed = "refunded" if deed == "returned" and _MONEY.search(plain) else deed
            deed = "" if _OF_ANY_WRITE.search(f"{clause}{deed}") else deed
            past = _EARLIER.search(_I_HAVE.sub(" ", plain)) is not None
            yield Claim(sentence, deed, past, own, kind == "state")


def denies_all(sentence: Sentence) -> bool:
    """Whether a sentence says that nothing at all was done, as in "I have not changed anything"."""
    return _NOTHING.occurs(sentence.plain) and _NOTHING_ELSE.search(sentence.plain) is None


def _found(plain: str, deeds: tuple[str, ...]) -> Iterator[tuple[str, re.Match[str]]]:
    """What reads like a claim, from left to right, with its deed; where two overlap, the first one."""
    several = [(deed, found) for deed in deeds if deed in plain for found in _pattern(deed).finditer(plain)]
    several += [("", found) for found in _GENERAL.matches(plain)]
    end = 0
    for deed, found in sorted(several, key=lambda one: one[1].start()):
        if found.start() >= end:
            yield deed, found
            end = found.end()


@lru_cache(maxsize=256)
def _pattern(deed: str) -> re.Pattern[str]:
    """The pattern of claims of one deed."""
    verb = re.escape(deed)
    past = "(?!)" if deed in _HISTORY else verb
    present = "(?!)" if deed in _RULES else verb
    active = (
        rf"{_I}{verb}\b"
        rf"|\b(?P<they>{verb}) (?:it|that|this|them|everything|your \w+)\b|\b(?P<state>{verb})\b{_END}"
    )
    passive = (
        rf"\b(?:has|have) {ADVERBS}been {ADVERBS}{verb}\b"
        rf"|\b(?:was|were|gets?|got|(?:is|are) (?:now|already)) {ADVERBS}{past}\b"
        rf"|(?:\bit's|(?:\b(?:it|that|this|orders?|items?)|\#w\d+)(?: is| are)) {ADVERBS}{present}\b"
    )
    opener = r"^(?:(?:ok|okay|great|good news|sure|alright)\W+)?(?:successfully |now )?"
    bare = rf"{opener}{past}\b(?! (?:orders?|items?|products?|flights?|status\w*|details|totals?|prices?|or)\b)"
    return re.compile("|".join((active, passive, bare)))
