"""How agents talk, whatever the domain: patterns of the acts that a message can do besides asking for a detail.

All patterns are regular expressions over one lower-case sentence without markup. A cue file can add to them.
"""

from __future__ import annotations

import re

from simia_gym.language.patterns import Cue

_VERBS = (
    "submit|process|place|cancel|return|exchange|modify|change|update|switch|set|apply|book|complete|finali[sz]e|make"
    "|do (?:this|that|it)"
)
_ALRIGHT = "correct|right|ok|okay|accurate|fine|good|acceptable|alright"
_DONE = (
    "cancel+ed|return(?:ed)?|exchanged?|modif(?:y|ied)|updated?|changed?|process(?:ed)?|submitted|completed|refunded"
    "|requested|taken care|done|switched|set|initiated|issued|resolved|handled|made|applied|finished|took care"
)
_HELP = "help|assist|be of|support"

ACTS: dict[str, tuple[str, ...]] = {
    "confirm": (
        r"\b(?:do|can|could|would|will) you (?:please |kindly )?(?:explicitly )?(?:confirm|approve|agree)\b",
        r"\b(?:please|kindly|just|simply) (?:explicitly |kindly )?(?:confirm|approve|reply|respond|answer|say|type)\b",
        r"\b(?:reply|respond|answer|say|type|with)(?: with| back)?(?: an?)?(?: explicit| clear)? *[\"'(]*yes\b",
        r"\b(?:shall|should|may) (?:i|we) (?:now |please )*(?!have\b|ask\b|know\b|get\b|help\b|assist\b|see\b)\w+",
        rf"\b(?:can|could) (?:i|we) (?:now )?(?:please )?(?:go ahead|proceed|continue|{_VERBS})\b",
        r"\b(?:would|do) you (?:like|want|wish) (?:me|us) to\b",
        r"\b(?:would|do) you (?:like|want|wish) to (?:go ahead|proceed|continue|confirm|move forward)\b",
        r"\b(?:is|are|does|do) (?:all (?:of )?)?(?:that|this|these|everything|it|those|the \w+)"
        rf"(?: \w+){{0,3}} (?:all )?(?:{_ALRIGHT})\b",
        r"\b(?:correct|right|ok|okay|agreed|alright|yes)\?",
        r"\bsounds? good\?|\bare you (?:sure|okay|ok|happy|fine|comfortable)\b|\bready to (?:proceed|go|submit)\b",
        r"\byes ?(?:/|or) ?no\b|\by/n\b",
        r"\bto (?:proceed|go ahead|continue),? ?(?:please|i need|i'll need|reply|say)",
        r"\b(?:may|can|could|do|should) (?:i|we) (?:have|get) your (?:explicit )?(?:confirm|approv|permi|consent|ok)",
        r"\byour (?:explicit |final )?(?:confirmation|approval|go-ahead|permission|consent)\b",
        r"\blet me know (?:if|whether|when) (?:you|this|that|these|i|it|everything)\b",
        r"\bconfirm (?:that|this|these|those|if|whether|you|to|and|by|so|with|it)\b",
        r"\bconfirm the (?:above|details|following|change|cancellation|return|exchange|modification|update)\b",
        r"\bconfirm *[?:.]|\b(?:go ahead|proceed|move forward)\b[^.]*\?",
        r"\bif (?:you agree|that works|this works|you approve)\b|\bdoes (?:that|this) work\b",
        r"\bis (?:it|that|this) what you (?:want|would like|need)",
    ),
    "refuse": (
        r"\bunfortunately\b|\bi'm afraid\b|\bi am afraid\b|\bregret\b",
        r"\b(?:i|we)(?:'m| am|'re| are)?,? (?:sorry,? (?:but )?)?(?:i |we )?"
        r"(?:can't|cannot|can not|could not|couldn't|won't|will not|do not have|don't have"
        r"|(?:am |are )?(?:unable|not (?:able|allowed|permitted|authori[sz]ed))"
        r"|(?:must|have to|need to) (?:decline|refuse|deny))\b",
        r"\bunable to\b",
        r"\bnot (?:possible|eligible|allowed|permitted|supported|offered|acceptable|able to|(?:a )?valid)\b",
        r"\b(?:can't|cannot|can not|can no longer|may not|won't) (?:be|go)\b",
        r"\bisn't (?:possible|eligible|allowed|permitted|something|acceptable|(?:a )?valid|an option)\b",
        r"\bagainst (?:our|the|store|company|my)\b",
        r"\bpolic(?:y|ies) (?:does not|doesn't|do not|don't|prohibit|only|forbid)",
        r"\bonly [^.]{0,60}\b(?:can|may) be (?:cancel|modif|chang|return|exchang|refund)",
        r"\bno longer (?:be )?(?:an option|eligible|possible|available|cancel|modif|chang)",
        r"\boutside (?:of )?(?:what|my|the)\b|\btoo late to\b|\bthere(?:'s| is) no way to\b",
        r"\bnothing (?:that )?i can do\b",
        r"\bi can only (?:help|assist|work)\b|\bno (?:discount|compensation|voucher|refund)s? can be\b",
    ),
    "claim": (
        rf"\b(?:has|have) (?:now |also |just )?been (?:successfully )?(?:{_DONE})",
        rf"\b(?:is|are) (?:now |all )?(?:{_DONE}|complete|on (?:its|their) way)\b",
        rf"\bi(?:'ve| have)? (?:now |just |successfully |also )*(?:{_DONE})\b",
        r"\ball (?:done|set)\b|\bsuccessfully\b|\btaken care of\b|^done\b|\bcompleted\b",
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
"""Acts and their patterns. ``request`` marks sentences that ask for something; the others end up in `Heard.acts`."""

DEMAND = re.compile(
    r"\b(?:what|which|where|how|why|provide|share|tell me|give me|send me|specify|choose|select|pick|indicate"
    r"|(?:confirm|verify) (?:the|your|both|me|his|her)|let me know (?:what|which|where|how|why|the|your))\b"
)
"""What must stand before a detail in a sentence that also asks for a yes, so that the detail counts as asked for."""

NOTICE = Cue(
    (
        r"^(?:please note|note|keep in mind|be aware|remember|important)"
        r"|\b(?:once|after) (?:this|that|it|you|we|i|the|these)\b"
        r"|\b(?:once|after) (?:modified|done|confirmed|processed|submitted|exchanged|changed)\b"
        r"|\bundone\b|\breversed\b|\banymore\b|\bif (?:the|your|it|you)\b",
    )
)
"""A warning or a condition: "this cannot be undone" refuses nothing."""

FIRM = Cue((r"\bunfortunately\b|\bsorry\b|\bafraid\b|\balready\b|\bdecline\b",))
"""Words that make a sentence a refusal even if it sounds like a notice."""

FOUND = Cue((r"\b(?:verified|authenticated|located|found|identity|logged|noted)\b",))
"""Success at finding somebody or something, which is no claim that a wish is fulfilled."""

YES = Cue((r"\bproceed\b|\bgo ahead\b|\byes\b|\bshall i\b|\bcorrect\b|\bthat you\b",))
"""Words that ask for a yes even where the sentence asks for a detail too."""

WH = Cue((r"\b(?:what|which|where|who|how|why|when)\b",))
"""Words that make a question one that no yes can answer."""
