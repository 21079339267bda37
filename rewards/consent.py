"""Whether the words of a user agree to go on. Only for users that do not name their own dialogue acts."""

from __future__ import annotations

import re

from simia_gym.rewards.wording import normal

_YES = re.compile(
    r"""
      \b(?:yes|yeah|yep|yup|sure|okay|ok|absolutely|definitely|certainly|indeed|agreed|approved|affirmative|confirmed)\b
    | \b(?:i|we)\ (?:do\ )?(?:confirm|agree|approve|accept|authori[sz]e)\b
    | \b(?:please\ )?(?:confirm|proceed|continue)\b
    | \b(?:go|move)\ (?:ahead|forward)\b
    | \bplease\ do\b | \bdo\ (?:it|so|that)\b | \bof\ course\b
    | \b(?:sounds|looks|that's|that\ is|this\ is|it's|all|everything\ is|everything\ looks)
      \ (?:good|great|fine|perfect|correct|right|okay|ok)\b
    | ^(?:correct|right|perfect|exactly|great|good|fine|please)\b
    | \bi'd\ like\ (?:you\ )?to\ (?:proceed|go\ ahead|continue)\b
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
_NO = re.compile(
    r"""
      ^(?:no|nope|nah|never|stop|wait|hold\ on|not)\b
    | \b(?:don't|do\ not|please\ don't|not\ to|never)\ (?:\w+\ )?
      (?:proceed|go\ ahead|continue|confirm|do|process|submit|make|place|change|cancel|modify|return|exchange|book|touch
         |want|agree|approve|accept)\b
    | \bnot\ (?:yet|so\ fast|sure|right|correct|okay|ok|quite)\b
    | \b(?:hold|wait)\ (?:on|off|up|a)\b | \bwait\b(?!\s+(?:for\ your|to\ see))
    | \bnever\ ?mind\b | \bbefore\ (?:you|we|i)\ (?:do|proceed|go|confirm|continue)\b
    | \b(?:i've\ )?changed\ my\ mind\b
    | \b(?:can't|cannot|won't|didn't|wouldn't)\ (?:agree|confirm|approve|accept|proceed)\b
    | [.!?]\ (?:no|nope)\b
    """,
    re.VERBOSE,
)
_RESERVATION = re.compile(r"\bbut\b[^.!?]*\?")
_QUESTION = re.compile(
    r"\b(?:are|is|was|can|could|would|will|do|does|did|should|what|which|how|when|where|who|why|may|shall)\b[^.!?]*\?"
)


def consents(text: str) -> bool:
    """Whether a user's words agree to what was proposed.

    A refusal anywhere outweighs a yes; a yes inside a question ("is it okay?") or followed by one ("sure, but what does
    it cost?") is none.

    Args:
        text: What the user said.
    """
    plain = normal(text)
    if _RESERVATION.search(plain):
        return False
    plain = _WELCOME.sub("ok", _QUESTION.sub(" ", plain))
    plain = _NO_MATTER.sub(" ", plain).strip(" ,.;!")
    return _YES.search(plain) is not None and _NO.search(plain) is None
