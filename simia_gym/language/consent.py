"""Decides from a user's words whether the user consents; needed only for users that do not report dialogue acts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from simia_gym.language.text import Sentence

_YES = re.compile(
    r"\b(?:yes|yeah|yep|yup|sure|okay|ok|absolutely|definitely|certainly|indeed|agreed|approved|affirmative|confirmed)\b"
    r"|\b(?:i|we) (?:do )?(?:confirm|agree|approve|accept|authori[sz]e)\b"
    r"|\b(?:confirm|proceed|continue)\b(?! (?:to |with (?:your|the|an) )?(?:explain|explanation|tell|hold|wait|look"
    r"|check|describe|answer|talk|discuss))"
    r"|\b(?:go|move) (?:ahead|forward)\b|\bplease do\b|\bdo (?:it|so|that)\b|\bof course\b"
    r"|\bplease (?:make|submit|process|apply|complete|book) (?:it|that|the|this|these|those)\b"
    r"|\b(?:sounds|looks|that's|that is|this is|it's|all|everything is|everything looks)"
    r" (?:good|great|fine|perfect|correct|right|okay|ok)\b"
    r"|^(?:correct|right|perfect|exactly|great|good|fine)\b|^please\b(?! (?:continue|proceed|confirm))"
)
_NO_PROBLEM = re.compile(
    r"\b(?:no (?:problems?|worries|objections?|issues?|concerns?)|why not|(?:i )?don't (?:mind|see a problem))\b"
)
"""What says yes with words of a no."""
_NO_MORE = re.compile(
    r"\bno,? (?:(?:further|other|more) \w+|questions?|changes?|need to (?:change|wait))\b"
    r"|\b(?:i )?don't have any (?:questions|objections|changes)\b"
)
"""A no that is not said to the proposal."""
_NO = re.compile(
    r"^\W*(?:no|nope|nah|never|stop|wait|hold on|not)\b"
    r"|\b(?:don't|do not|not to|never) (?:\w+ )?(?:proceed|go ahead|continue|confirm|do|process|submit|make|place"
    r"|change|cancel|modify|return|exchange|book|touch|want|agree|approve|accept)\b"
    r"|\bnot (?:sure|right|correct|okay|ok|quite|so fast)\b"
    r"|\b(?:hold|wait) (?:on|off|up|a)\b|\bwait\b(?! (?:for your|to see))"
    r"|\b(?:can't|cannot|won't|didn't|wouldn't) (?:agree|confirm|approve|accept|proceed)\b"
)
"""What negates a yes in the same sentence."""
_NO_AT_ALL = re.compile(
    r"^\W*(?:no|nope|nah|not)\b"
    r"|\b(?:don't|do not|not to) (?:\w+ )?(?:proceed|go ahead|continue|(?:do|process|submit|cancel|change|confirm)"
    r" (?:it|that|this|anything)|make (?:any|that|this|the) changes?)\b"
    r"|\bnot (?:okay|ok|fine|happy|comfortable|good|alright) with\b"
    r"|\b(?:absolutely|certainly|definitely|of course) not\b|\b(?:don't|do not) know about\b|\brather not\b"
    r"|\b(?:i|we) (?:do )?(?:disagree|object)\b"
    r"|\b(?:i|we) (?:never|did not|didn't) (?:ask\w* for|agree\w* to) (?:it|that|this)\b"
    r"|\bnot yet\b|\bnever ?mind\b|\bchanged my mind\b|\b(?:actually|wait|sorry|hmm),? (?:no|nope)\b"
    r"|\bbefore (?:you|we|i) (?:can )?(?:do|proceed|go|confirm|continue|agree|approve|accept|say yes)\b"
    r"|\bwhat (?:exactly )?i(?:'m| am)? (?:agree|confirm)(?:ing)?\b"
)
"""What negates a yes anywhere in the message."""
_ONLY_IF = re.compile(
    r"\b(?:only if|as long as|provided|on (?:the )?condition|unless|assuming|so long as|except)\b"
    r"|\bif\b(?! (?:that|this|it|everything|all)(?:'s| is| looks| are)?"
    r" (?:all|correct|right|fine|ok|okay|good|needed|what|how|the (?:only|case)|necessary|required)\b)"
    r"(?! (?:so|needed|necessary|required|you (?:like|want|say|must|please)))"
    r"|\bbut\b[^.!?]{0,240}\?|^\W*(?:yes|yeah|yep|sure|okay|ok|right|really|please)\s*\?+"
)
"""What makes the yes of a sentence depend on something: a condition or a question."""
_IF_YES = re.compile(r"^\W*if (?:so|yes)\b\W*")
"""Says that the answer to a question of fact decides, which stands before the consent."""
_BUT = re.compile(
    r"\b(?:but|although|except|however)\b"
    r"(?!\W*(?:thank|please (?:hurry|be (?:quick|careful))|hurry|that's (?:all|it)\b))"
)
_NO_ANSWER = re.compile(
    r"\b(?:are|is|was|can|could|would|will|do|does|did|should|what|which|how|when|where|who|why|may|shall)\b"
    r"[^.!?]{0,240}\?"
    r"|\b(?:yes|yeah|ok|okay|sure),? (?:i|we) (?:got|received|saw|read|heard|remember|see|know|understand)\b"
)
"""Questions, and a yes that only says what the user knows."""


def consents(sentences: Sequence[Sentence]) -> bool:
    """Whether a user's message consents to the agent's proposal.

    At least one sentence must say yes and not negate it. A message that begins with a no or asks to wait does not
    consent. A yes inside a question ("is it okay?") or before one ("sure, but what does it cost?") does not count; one
    that waits for a fact does ("is it the cheapest? If yes: go ahead").
    """
    parts = [_NO_MORE.sub(" ", _NO_PROBLEM.sub("ok", sentence.plain)).strip(" ,.;-") for sentence in sentences]
    return not _NO_AT_ALL.search(". ".join(parts)) and any(map(_agrees, parts))


def _agrees(sentence: str) -> bool:
    sentence = _IF_YES.sub("", sentence)
    if _ONLY_IF.search(sentence):
        return False
    # "I'd rather keep it, but go ahead" agrees, "yes, but use my card" does not.
    rest = _BUT.split(_NO_ANSWER.sub(" ", sentence).strip(" ,.;-"))[-1]
    return _YES.search(rest) is not None and _NO.search(rest) is None
