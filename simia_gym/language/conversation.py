"""Recognises the dialogue acts of an agent's sentences, in any domain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from simia_gym.language.claim import Claim, claims_in
from simia_gym.language.cue import Cue
from simia_gym.language.refusal import refuses
from simia_gym.language.text import Sentence

Act: TypeAlias = Literal["confirm", "refuse", "claim", "wait", "offer", "invite", "question"]
"""Dialogue acts, in order: asks for consent, refuses, claims a completed action, asks to wait, offers further help,
invites the user to state a request, asks a question."""

_VERBS = (
    "submit|process|place|cancel|return|exchange|modify|change|update|switch|set|apply|book|complete|finali[sz]e|make"
    "|do (?:this|that|it)"
)
_ALRIGHT = "correct|right(?! (?:after|away|now|here))|ok|okay|accurate|fine|good|acceptable|alright"
_HELP = "help|assist|be of|support"

_PATTERNS: dict[str, tuple[str, ...]] = {
    "confirm": (
        r"\b(?:do|can|could|would|will) you (?:please |kindly )?(?:explicitly )?(?:confirm|approve|agree)\b",
        r"\b(?:please|kindly|just|simply) (?:explicitly |kindly )?(?:confirm|approve|reply|respond|answer|say|type)\b",
        r"\b(?:reply|respond|answer|say|type|with)(?: with| back)?(?: an?)?(?: explicit| clear)? *[\"'(]*yes\b",
        r"\b(?:shall|should|may) (?:i|we) (?:now |please )*(?!have\b|ask\b|know\b|get\b|help\b|assist\b|see\b)\w+",
        r"\b(?:shall|should|may) (?:i|we)\?",
        rf"\b(?:can|could) (?:i|we) (?:now )?(?:please )?(?:go ahead|proceed|continue|{_VERBS})\b",
        r"\b(?:would|do) you (?:like|want|wish) (?:me|us) to\b",
        r"\b(?:would|do) you (?:like|want|wish) to (?:go ahead|proceed|continue|confirm|move forward)\b",
        r"\b(?:is|are|does) (?:all (?:of )?)?(?:that|this|these|everything|it|those|the \w+)"
        rf"(?: \w+){{0,3}} (?:all )?(?:{_ALRIGHT})\b",
        r"\b(?:correct|right|ok|okay|agreed|alright|yes)\?",
        r"\bsounds? good\?|\bare you (?:sure|okay|ok|happy|fine|comfortable)\b|\bready to (?:proceed|go|submit)\b",
        r"\byes ?(?:/|or) ?no\b|\by/n\b",
        r"\bto (?:proceed|go ahead|continue),? ?(?:reply|say)",
        r"\b(?:may|can|could|do|should) (?:i|we) (?:have|get) your (?:explicit )?(?:confirm|approv|permi|consent|ok)",
        r"(?<!ask for )(?<!asking for )"
        r"\byour (?:explicit |final )?(?:confirmation|approval|go-ahead|permission|consent)\b",
        r"\blet me know (?:if|whether|when) (?:you|this|that|these|i|it|everything)\b",
        r"\bconfirm (?:that|this|these|those|if|whether|you|to|and|by|so|with|it)\b",
        r"\bconfirm the (?:above|details|following|change|cancellation|return|exchange|modification|update)\b",
        r"(?<!you )\bconfirm *[?:.]|\b(?:go ahead|proceed|move forward)\b[^.]*\?",
        r"\bif (?:you agree|that works|this works|you approve)\b|\bdoes (?:that|this) work\b",
        r"\bis (?:it|that|this) what you (?:want|would like|need)",
    ),
    "wait": (
        r"\b(?:one|a|just a) (?:moment|second|minute|sec|bit)\b|\blet me (?!know)|\bhold on\b|\bbear with\b",
        r"\bi(?:'ll| will|'m going to| am going to) (?:now |quickly |just |first )?"
        r"(?:check|look|pull|find|verify|get|review|see|take|fetch|search|go|start|begin|proceed|locate)",
        r"\bplease (?:wait|hold|stand by)\b|\bgive me (?:a|one)\b",
        r"\bchecking\b|\blooking (?:into|up|at)\b|\bworking on\b",
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
        r"\bwhat(?:'s| is| seems to be| was)? (?:the|your) (?:issue|problem|request|matter|question|concern)",
        r"\bwhat(?:'s| is)? (?:the|your) reason for (?:your |the )?(?:call|contact|reaching|writing)",
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
        r"\b(?:i|we)(?:'ll| will| would|'d)? (?:also |first |still |just )?(?:need|require|have to|must)\b",
        r"\bkindly\b|\bplease\b|\b(?:verify|verification|authenticate|identify|confirm)\b",
        r"\b(?:requested|required|needed|need from you|missing)\b",
        r"\bwill (?:do|work|suffice)\b|\bworks? (?:too|as well)\b",
    ),
}
_CUES = {act: Cue(patterns, act) for act, patterns in _PATTERNS.items()}
# Questions that cannot be answered by yes; and phrases that ask for a yes even if the sentence also asks for a detail.
_WH = Cue((r"\b(?:what|which|where|who|how|why|when)\b",))
_YES = Cue((r"\bproceed\b|\bgo ahead\b|\byes\b|\bshall i\b|\bcorrect\b|\bthat you\b",))
# Questions whose yes stops what is proposed.
_CONTRARY = Cue(
    (
        r"\b(?:do|would|will) you (?:\w+ly )?(?:object|refuse|decline|oppose|mind if)\b",
        r"\b(?:shall|should|may|can) (?:i|we) (?:rather )?(?:not|stop|forget|refrain|abandon)\b",
        r"\b(?:like|want|wish) (?:me|us) (?:to (?:stop|forget|refrain|abandon|not)|not to)\b",
        r"\byes\W+(?:to|if you(?:'d)?) (?:rather )?(?:stop|object|refuse|decline|refrain|abandon|not|do not|don't)\b",
        r"\b(?:cancel|stop|drop|abandon|forget) (?:about )?(?:this|the|that|my) (?:plan|proposal)\b",
    )
)


@dataclass(frozen=True, slots=True)
class Said:
    """The dialogue acts of one sentence.

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


# Without the cache, retail plays up to 30% fewer steps a second.
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
