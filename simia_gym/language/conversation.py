"""Recognises the dialogue acts of an agent's sentences, in any domain, and the details that they ask for.

A detail (slot) is a piece of information that the user has; a domain supplies the patterns by which agents ask for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from simia_gym.language.claim import Claim, claims_in
from simia_gym.language.cue import Cue
from simia_gym.language.refusal import refuses
from simia_gym.language.text import Sentence
from simia_gym.language.vocabulary import VERBS

Act: TypeAlias = Literal["confirm", "refuse", "claim", "wait", "offer", "invite", "question"]
"""Dialogue acts, in order: asks for consent, refuses, claims a completed action, asks to wait, offers further help,
invites the user to state a request, asks a question."""

_ALRIGHT = "correct|right(?! (?:after|away|now|here))|ok|okay|accurate|fine|good|acceptable|alright"
_HELP = "help|assist|be of|support"

_PATTERNS: dict[str, tuple[str, ...]] = {
    "confirm": (
        r"\b(?:do|can|could|would|will) you (?:please |kindly |\w+ and )?(?:explicitly )?\b(?:confirm|approve|agree"
        r"|accept|consent|authori[sz]e|want (?:this|that|it))\b",
        r"\b(?:please|kindly|just|simply) (?:explicitly |kindly )?(?:confirm|approve|reply|respond|answer|say|type)\b",
        r"\b(?:reply|respond|answer|say|type|with)(?: with| back)?(?: an?)?(?: explicit| clear)? *[\"'(]*yes\b",
        r"\b(?:shall|should|may) (?:i|we) (?:now |please )*(?!have\b|ask\b|know\b|get\b|help\b|assist\b|see\b)\w+",
        r"\b(?:shall|should|may) (?:i|we)\?",
        rf"\b(?:can|could) (?:i|we) (?:now |please )*(?:go ahead|proceed|continue|submit|process|place|{VERBS}|complete"
        r"|make|do (?:this|that|it))\b",
        r"(?:^|\b(?:would|do) you )(?:like|want|wish) (?:me|us) to\b",
        r"\b(?:would|do) you (?:like|want|wish) to (?:go ahead|proceed|continue|confirm|move forward)\b",
        r"\b(?:is|are|does|would) (?:all (?:of )?)?(?:that|this|these|everything|it|those|the \w+)"
        rf"(?: \w+){{0,3}} (?:all )?(?:{_ALRIGHT})\b",
        r"\b(?:correct|right|ok|okay|agreed|alright|yes)\?",
        r"\b(?:sounds?|looks?|all) good\?|\bare you (?:sure|okay|ok|happy|fine|comfortable)\b"
        r"|\bready (?:for me )?to (?:proceed|go|submit)\b",
        r"^(?!.*\b(?:is|are|was|were|do|does|did|have|has|had|would|will|can|could)"
        r" (?:you|your|it|there|this|that|these|any\w*)\b)"
        r".*\b(?:yes\b ?(?:/|or) ?no|y/n)\b",
        r"(?<!ask for )(?<!asking for )"
        r"\byour (?:explicit |final )?\b(?:confirmation|approval|go-ahead|permission|consent)\b",
        r"\blet me know (?:(?:if|whether|when) (?:you|this|that|these|i|it|everything)|and (?:i|we)|whether to)\b",
        r"\bconfirm (?:that|this|these|those|if|whether|you|to|and|by|so|with|it)\b",
        r"\bconfirm the (?:above|details|following|change|cancellation|return|exchange|modification|update)\b",
        r"(?<!you )\bconfirm *[?:.]|\b(?:go ahead|proceed|move forward)\b[^.]*\?",
        r"\bif (?:you agree|that works|this works|you approve)\b",
        r"\bif you(?:'re| are) (?:happy|ok|okay|fine) with (?:this|that)\b",
        r"\b(?:await(?:ing)?|waiting for) your (?:yes|ok|okay|reply|answer|decision)\b",
        r"\b(?:does|would|will) (?:that|this|it) work\b",
        r"\b(?:is|are) (?:it|that|this|these|everything)(?: \w+)? (?:what|as) you (?:want|would like|need|had in mind)",
        r"\b(?:once|as soon as|when) you (?:confirm|agree|approve|say yes)\b(?! (?:your|the|which|what|who|how)\b)",
        r"\b(?:get|have|give me|need) (?:a|an|your|the) (?:yes|ok|okay|go-ahead|green light)\b|\bgood to go\?",
    ),
    "wait": (
        r"\b(?:one|a|just a) (?:moment|second|minute|sec|bit)\b|\blet me (?!know)|\bhold on\b|\bbear with\b",
        r"\bi(?:'ll| will|'m going to| am going to) (?:now |quickly |just |first )?"
        r"(?:check|look|pull|find|verify|get|review|see|take|fetch|search|go|start|begin|proceed|locate)",
        r"\bplease (?:wait|hold|stand by)\b|\bgive me (?:a|one)\b",
        r"\b(?:checking|looking (?:into|up|at)|working on)\b",
    ),
    "offer": (
        r"\b(?:anything|something|what) else\b|\banything (?:more|further)\b",
        r"\bany (?:other|further|more|additional) (?:question|request|help|assist|change|thing|concern|issue|matter)",
        r"\b(?:further|more|additional) (?:assistance|help|questions)\b",
        r"\bhave an? (?:great|nice|good|wonderful|lovely)\b|\byou(?:'re| are) (?:very |most )?welcome\b",
        r"\bthank you for (?:contacting|calling|shopping|choosing|reaching)",
    ),
    "invite": (
        rf"\bhow (?:can|may|could) (?:i|we) (?:{_HELP})\b|\bwhat (?:can|may|could) (?:i|we) (?:do|help|assist)",
        r"\bwhat (?:would|do|did) you (?:like|want|need|wish)(?: me)?(?: to (?:do|change|have|know|request))?"
        r"(?: today| done| help| assist|\?| with)",
        r"\bwhat\b(?:'s| is| seems to be| was)? (?:the|your) (?:issue|problem|request|matter|question|concern"
        r"|reason for (?:your |the )?(?:call|contact|reaching|writing))",
        r"\b(?:tell me|describe|explain|share|let me know) (?:more |a bit |a little )*(?:about |what |how |exactly )*"
        r"(?:you(?:'d| would| need| want)|i can|we can|(?:your|the) (?:request|issue|problem|question|concern))",
        r"\bwhat brings you\b|\bwhat is this (?:about|regarding)\b|\bhow would you like (?:me )?to (?:proceed|help)",
        r"\bmore (?:details|information) (?:about|on|regarding) (?:your|the|what)\b",
        r"\bwhat (?:exactly )?(?:are you looking|is it)",
    ),
    "request": (
        r"\b(?:what|which|who|where|when|why|how)\b",
        r"\b(?:provide|share|tell|give|send|specify|supply|indicate|choose|select|pick|enter)\b",
        r"\b(?:may|can|could|might) (?:i|we|you)\b|\blet me know\b|\bdo you (?:have|remember|know|recall)\b",
        r"\b(?:i|we)(?:'ll| will| would|'d)? (?:also |first |still |just )?\b(?:need|require|have to|must)\b",
        r"\bkindly\b|\bplease\b|\b(?:verify|verification|authenticate|identify|confirm)\b",
        r"\b(?:requested|required|needed|need from you|missing)\b",
        r"\bwill (?:do|work|suffice)\b|\bworks? (?:too|as well)\b",
    ),
}
_CUES = {act: Cue(patterns, act) for act, patterns in _PATTERNS.items()}
# Questions that cannot be answered by yes; and phrases that ask for a yes even if the sentence also asks for a detail.
_WH = Cue((r"\b(?:what|which|where|who|how|why|when)\b",))
_YES = Cue((r"\b(?:proceed|go ahead|yes|shall i|correct|that you)\b",))
# Questions whose yes stops what is proposed.
_DROP = (
    r"(?:\w+ly )?(?:not|stop|forget|refrain|abandon|drop|scrap|skip|leave|discard|ignore|abort|hold off|reject|refuse"
    r"|do nothing|do the opposite|call (?:it|this|that) off|hold (?:on|fire)"
    r"|wait|await|explain|keep (?:it|them|things|everything|all)|want out"
    r"|ask you (?:an?|one|another|something))\b"
)
_OPPOSE = r"(?:object|refuse|decline|oppose|mind\b|disagree|dislike|hate|reject|disapprove|regret|protest|doubt)"
_CONTRARY = Cue(
    (
        rf"\b(?:do|would|will) you (?:\w+ly )?{_OPPOSE}|\b(?:like|want|wish|prefer) (?:me|us) (?:not to|to {_DROP})",
        rf"\byes\W+(?:to|if you(?:'d)?) (?:rather )?(?:{_OPPOSE}|{_DROP}|do not|don't)",
        rf"\b(?:shall|should|may|can|must) (?:i|we) (?:rather )?{_DROP}",
        r"\breason\b.*\bnot\b|\bwhy (?:i|we) should(?:n't| not)\b",
        r"\byou (?:\w+ly )?(?:against|opposed|unhappy|uncomfortable|unwilling|averse|dissatisfied)\b",
        r"\b(?:is|was|would|does|do|are) (?:it|this|that|these|any of (?:it|this|that))(?: \w+){0,2} (?:wrong|incorrect"
        r"|false|bad|mistaken|unacceptable|unwanted|bother|upset|disturb|a (?:problem|mistake)|not)\b",
    )
)
# In a sentence that also asks for consent, a detail counts as requested only after one of these phrases.
_DEMAND = re.compile(
    r"\b(?:what|which|where|how|why|provide|share|tell me|give me|send me|specify|choose|select|pick|indicate"
    r"|(?:confirm|verify) (?:the|your|both|me|his|her)|let me know (?:what|which|where|how|why|the|your))\b"
)
_WEAK = re.compile(r"^(?:confirm|verify)")
_FIELD = re.compile(r"^[\w ()-]{1,40}: ?\S")
_VALUE = re.compile(r"\d{4,}|\S@\S{1,99}\.\S|\$ ?\d")
_REACH = 90


@dataclass(frozen=True, slots=True)
class Detail:
    """The patterns by which agents ask for a detail, and the reply of a user who does not know it.

    Attributes:
        ask: Patterns that apply in sentences that ask for something.
        direct: Patterns that apply in any sentence, even one that asks for consent.
        unknown: Lines of a user who does not know the detail.
        quiet: Whether such a user ignores the question if it can answer another question of the same message.
    """

    ask: Cue
    direct: Cue
    unknown: tuple[str, ...] = ()
    quiet: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """The dialogue acts of one sentence; compared by identity, since `understand` keeps one for equal sentences.

    Attributes:
        sentence: The sentence.
        acts: Its dialogue acts.
        requests: Whether it asks for something, possibly a detail of the domain.
        firm: Whether it asks for consent even if it also asks for a detail; "could you confirm your email?" does not.
        claims: Its claims of completed actions.
    """

    sentence: Sentence
    acts: frozenset[Act]
    requests: bool
    firm: bool
    claims: tuple[Claim, ...]


# Without the cache, a step of retail costs 6 to 8% more.
@lru_cache(maxsize=4096)
def understand(sentence: Sentence) -> Said:
    """Find a sentence's dialogue acts. Cached, because agents repeat sentences."""
    text, acts = sentence.plain, set[Act]()
    if _CUES["offer"].occurs(text):
        acts.add("offer")
    elif sentence.question:
        acts.add("question")
    if _CUES["invite"].occurs(text):
        acts.add("invite")
    found = _CUES["confirm"].find(text)
    firm = found is not None and _YES.occurs(text)
    # Neither "What would you like me to do?" nor "Would you like help with anything else?" asks for consent.
    if found is not None and not _CONTRARY.occurs(text) and (firm or not ("offer" in acts or _WH.occurs(text[:found]))):
        acts.add("confirm")
    if refuses(sentence):
        acts.add("refuse")
    if not sentence.question and _CUES["wait"].occurs(text):
        acts.add("wait")
    claims = tuple(claims_in(sentence))
    if claims:
        acts.add("claim")
    requests = sentence.question or _CUES["request"].occurs(text)
    return Said(sentence, frozenset(acts), requests, firm, claims)


_YES_OR_NO = re.compile(r"\byes\b ?(?:/|or) ?no\b|\by/n\b")


def asks_otherwise(said: Said) -> bool:
    """Whether a sentence asks a question whose yes stops what is proposed, or is no yes to it."""
    text = said.sentence.plain
    return "confirm" not in said.acts and (_CONTRARY.occurs(text) or _YES_OR_NO.search(text) is not None)


def asked(said: Said, details: Mapping[str, Detail]) -> list[str]:
    """Names of the domain's details that a sentence asks for, in order of mention."""
    sentence, confirms = said.sentence, "confirm" in said.acts
    text = sentence.plain
    if not (confirms or said.requests or _asks_for_items(sentence.head)):
        return []
    valued = _VALUE.search(text) is not None
    if valued and not sentence.question and _FIELD.search(text):
        return []  # "email on file: a@b.com" states a detail and does not ask for it
    regions = [(0, text, False)]
    if confirms:
        regions = [
            (demand.end(), text[demand.end() : demand.end() + _REACH], _WEAK.match(demand[0]) is not None)
            for demand in _DEMAND.finditer(text)
        ]
    found: list[tuple[int, str]] = []
    for name, detail in details.items():
        at = detail.direct.find(text)
        for start, region, weak in regions if at is None else ():
            hit = detail.ask.find(region)
            if hit is not None and not (weak and (valued or hit > 30)):
                at = start + hit
                break
        if at is not None:
            found.append((at, name))
    return [name for _, name in sorted(found)]


def _asks_for_items(head: str) -> bool:
    """Whether a heading asks for the items listed below it: "please give me:" does, "please confirm:" does not."""
    if not head:
        return False
    said = understand(Sentence(head, head))
    return said.requests and ("confirm" not in said.acts or _DEMAND.search(head) is not None)
