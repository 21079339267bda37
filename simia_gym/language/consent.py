"""Decides from a user's words whether the user consents; needed only for users that do not report dialogue acts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from simia_gym.language.text import Sentence

_YES = re.compile(
    r"""
      \b(?:yes|yeah|yep|yup|sure|okay|ok|absolutely|definitely|certainly|indeed|agreed|approved|affirmative
         |confirmed)\b
    | \b(?:i|we)\ (?:do\ )?(?:confirm|agree|approve|accept|authori[sz]e)\b
    | \b(?:please\ )?(?:confirm|proceed|continue)\b
      (?!\ (?:to\ |with\ (?:your|the|an)\ )?(?:explain|explanation|tell|hold|wait|look|check|describe|answer|talk
         |discuss))
    | \b(?:go|move)\ (?:ahead|forward)\b
    | \bplease\ do\b | \bdo\ (?:it|so|that)\b | \bof\ course\b
    | \bplease\ (?:make|submit|process|apply|complete|book)\ (?:it|that|the|this|these|those)\b
    | \b(?:sounds|looks|that's|that\ is|this\ is|it's|all|everything\ is|everything\ looks)
      \ (?:good|great|fine|perfect|correct|right|okay|ok)\b
    | ^(?:correct|right|perfect|exactly|great|good|fine)\b | ^please\b(?!\ (?:continue|proceed|confirm))
    """,
    re.VERBOSE,
)
_WELCOME = re.compile(
    r"\b(?:no (?:problems?|worries|objections?|issues?|concerns?)|why not|(?:i )?don't (?:mind|see a problem))\b"
)
_NO_MATTER = re.compile(
    r"\bno,? (?:(?:further|other|more) \w+|questions?|changes?|need to (?:change|wait))\b"
    r"|\b(?:i )?don't have any (?:questions|objections|changes)\b"
)
# Phrases that negate a yes in the same sentence.
_NO = re.compile(
    r"""
      ^\W*(?:no|nope|nah|never|stop|wait|hold\ on|not)\b
    | \b(?:don't|do\ not|not\ to|never)\ (?:\w+\ )?
      (?:proceed|go\ ahead|continue|confirm|do|process|submit|make|place|change|cancel|modify|return|exchange|book
         |touch
         |want|agree|approve|accept)\b
    | \bnot\ (?:sure|right|correct|okay|ok|quite|so\ fast)\b
    | \b(?:hold|wait)\ (?:on|off|up|a)\b | \bwait\b(?!\ (?:for\ your|to\ see))
    | \b(?:can't|cannot|won't|didn't|wouldn't)\ (?:agree|confirm|approve|accept|proceed)\b
    """,
    re.VERBOSE,
)
# Phrases that negate a yes anywhere in the message.
_NOTHING_YET = re.compile(
    r"""
      \b(?:don't|do\ not|not\ to)\ (?:\w+\ )?
      (?:proceed|go\ ahead|continue|(?:do|process|submit|cancel|change|confirm)\ (?:it|that|this|anything)
         |make\ (?:any|that|this|the)\ changes?)\b
    | \bnot\ (?:okay|ok|fine|happy|comfortable|good|alright)\ with\b | \b(?:absolutely|certainly|definitely
         |of\ course)\ not\b
    | \b(?:don't|do\ not)\ know\ about\b | \b(?:i|we)\ (?:do\ )?(?:disagree|object)\b | \brather\ not\b
    | \b(?:i|we)\ (?:never|did\ not|didn't)\ (?:ask\w*\ for|agree\w*\ to)\ (?:it|that|this)\b
    | \bnot\ yet\b | \bnever\ ?mind\b | \bchanged\ my\ mind\b
    | \b(?:actually|wait|sorry|hmm),?\ (?:no|nope)\b
    | \bbefore\ (?:you|we|i)\ (?:can\ )?(?:do|proceed|go|confirm|continue|agree|approve|accept|say\ yes)\b
    | \bwhat\ (?:exactly\ )?i(?:'m|\ am)?\ (?:agree|agreeing|confirm|confirming)\b
    """,
    re.VERBOSE,
)
_RESERVATION = re.compile(r"\bbut\b[^.!?]{0,240}\?")
# Phrases that make a yes conditional, or that go on to request something else.
_CONDITION = re.compile(
    r"\b(?:only if|as long as|provided|on (?:the )?condition|unless|assuming|so long as|except)\b"
    r"|\bif\b(?! (?:that|this|it|everything|all)(?:'s| is| looks| are)?"
    r" (?:all|correct|right|fine|ok|okay|good|needed|what|how|the (?:only|case)|necessary|required)\b)"
    r"(?! (?:so|needed|necessary|required|you (?:like|want|say|must|please)))"
)
_BUT = re.compile(r"\b(?:but|although|except|however)\b")
_KINDLY = re.compile(r"\W*(?:thank|please (?:hurry|be (?:quick|careful))|hurry|that's (?:all|it)\b)")
_ASKED_BACK = re.compile(r"^\W*(?:yes|yeah|yep|sure|okay|ok|right|really|please)\s*\?+")
_NOTED = re.compile(
    r"\b(?:yes|yeah|ok|okay|sure),? (?:i|we) (?:got|received|saw|read|heard|remember|see|know|understand)\b"
)
_QUESTION = re.compile(
    r"\b(?:are|is|was|can|could|would|will|do|does|did|should|what|which|how|when|where|who|why|may|shall)\b[^.!?]{0,240}\?"
)
_START_OF_NO = re.compile(r"^\W*(?:no|nope|nah|not)\b")


def consents(sentences: Sequence[Sentence]) -> bool:
    """Whether a user's message consents to the agent's proposal.

    At least one sentence must say yes and not negate it. A message that begins with a no or asks to wait does not
    consent. A yes inside a question ("is it okay?") or before one ("sure, but what does it cost?") does not count.
    """
    parts = [_NO_MATTER.sub(" ", _WELCOME.sub("ok", sentence.plain)).strip(" ,.;-") for sentence in sentences]
    whole = ". ".join(parts)
    return not (_START_OF_NO.match(whole) or _NOTHING_YET.search(whole)) and any(_agrees(part) for part in parts)


def _agrees(sentence: str) -> bool:
    if _RESERVATION.search(sentence) or _ASKED_BACK.match(sentence) or _CONDITION.search(sentence):
        return False
    rest = _NOTED.sub(" ", _QUESTION.sub(" ", sentence)).strip(" ,.;-")
    turns = [found.end() for found in _BUT.finditer(rest) if not _KINDLY.match(rest, found.end())]
    if turns:
        rest = rest[turns[-1] :]  # "I'd rather keep it, but go ahead" agrees, "yes, but use my card" does not
    return _YES.search(rest) is not None and _NO.search(rest) is None
