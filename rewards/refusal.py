"""Whether a sentence tells the user no.

Patterns cannot understand language; these know the ways in which agents decline, and the common phrases that look like
declining and are not: politeness ("I can't thank you enough"), searching ("I can't find that order"), conditions ("if
you can't remember it"), things that are merely postponed ("I can't continue until you confirm"), and warnings of what
will follow ("after this change you can't cancel the order").
"""

from __future__ import annotations

import re

from simia_gym.rewards.wording import normal, sentences

_MAYBE = re.compile(r"n't|not\b|unable|declin|den(?:y|ied)|refus|ineligib|impossib|prohibit|against|outside|forbid")

_ABLE = r"(?:able|possible|permitted|allowed|eligible|authori[sz]ed|in\ a\ position|something\ (?:that\ )?(?:i|we))"
_CUE = re.compile(
    rf"""
      \b(?:can't|cannot|can\ not|couldn't|could\ not)\b
    | \b(?:unable|impossible|ineligible|prohibited|forbidden)\b
    | (?:\bnot|n't)\ (?:be\ |been\ |currently\ |actually\ |even\ )?{_ABLE}\b
    | \b(?:i|we)(?:'ll|\ will)?\ (?:have\ to|must|need\ to|am\ going\ to|are\ going\ to)?\ ?(?:decline|refuse|deny)\b
    | \b(?:i|we)(?:'m|'re|\ am|\ are)\ (?:declining|refusing|denying)\b
    | \b(?:must|has\ to|have\ to)\ be\ (?:declined|refused|denied)\b
    | \b(?:is|are|was|has\ been|have\ been)\ (?:declined|refused|denied)\b
    | \b(?:i|we)\ (?:won't|will\ not|wouldn't|would\ not|may\ not|must\ not|am\ not\ going\ to|do\ not|don't)
      \ (?:\w+ly\ )?(?:do|make|process|proceed|cancel|change|modify|update|exchange|return|refund|issue|offer|provide
         |share|give|allow|help|assist|approve|accept|apply|add|remove|book|ship|send|override|support|handle|grant|honou?r)\b
    | \b(?:does|do|did)(?:n't|\ not)\ (?:allow|permit|support|offer|qualify|meet|cover|let)\b
    | \b(?:isn't|aren't|is\ not|are\ not)\ (?:something|one\ (?:i|we)|within|covered|supported|allowed|offered)\b
    | \b(?:against|outside|not\ within|prohibited\ by|forbidden\ by)\ (?:of\ )?(?:our|the|my|company|store|airline)?\ ?
      (?:policy|policies|rules|scope|terms|authority)\b
    | \bafraid\ not\b
    | \bnot\ an\ option\b
    """,
    re.VERBOSE,
)

_POLITE = re.compile(
    r"\s*(?:wait|thank|help\s+but|go\s+wrong|believe|stress|emphasi[sz]e|apologi[sz]e\s+enough|imagine|express|say\s+enough"
    r"|miss|recommend\s+\w+\s+enough|be\s+(?:happier|more|better))\b"
)
_SEARCHING = re.compile(
    r"\s*(?:to\s+|be\s+able\s+to\s+)?(?:seem\s+to\s+)?(?:find|locate|see|tell|recall|read|open|look\s+up|retrieve|verify"
    r"|identify|confirm|recogni[sz]e|hear|understand|determine|pull\s+up)\b(?!\s+(?:any\s+)?(?:way|reason))"
)
_CONDITION = re.compile(
    r"\b(?:if|in case|when|whenever|should|whether|let me know if|unless)\s+(?:you|it|this|that|i|we|they|the \w+|"
    r"your \w+|any \w+|one \w+)\b[^,;:]*$"
)
_UNDONE = re.compile(r"\b(?:no reason(?: why)?|nothing|not that|no(?:t a)? \w+ that)\s+(?:\w+\s+){0,2}$|\bnot $")
_POSTPONED = re.compile(
    r"\b(?:until|before|without|unless)\b[^.]*\b(?:verif\w*|confirm\w*|authenticat\w*|identity|e-?mail|zip|log\s?in"
    r"|details|information|ids?|your\s+(?:name|order|user|account|reply|answer|approval|consent|go-ahead)|you\s+(?:tell|give|"
    r"provide|say|reply|agree|approve|choose|pick|select))\b"
)


_STEP = r"(?:change|modification|exchange|return|update|cancellation|request|refund|step|action)"
_TAKEN = (
    r"(?:submit\w*|done|made|complete\w*|processed|confirm\w*|modif\w*|chang\w*|proceed\w*|appl\w*|exchang\w*|updat\w*"
    r"|do)"
)
_NOTICE_BEFORE = re.compile(
    rf"\b(?:after|once|following) (?:(?:this|that|the|your) {_STEP}|(?:this|that)\b(?! \w+ (?:ship|deliver))"
    rf"|(?:it|i|we|you)(?:'s|'ve| is| has been| have)? {_TAKEN})\b"
    r"|\bafterwards?\b|\bfrom then on\b|\b(?:can|will|may) only be (?:done|made|submitted) once\b"
    r"|\b(?:choosing|doing) (?:this|that|it)\b"
)
_NOTICE_AFTER = re.compile(
    rf"\b(?:after|once|following) (?:(?:this|that|the|your) {_STEP}|this|that"
    rf"|(?:it|i|we|you)(?:'s| is| has been)? {_TAKEN})\b"
    r"|\bafterwards?\b|\bfrom then on\b"
)

_NEAR = 240
"""How far around a cue its exceptions are looked for; it keeps the cost linear in the length of a text."""


def refuses(sentence: str) -> bool:
    """Whether one sentence, in normal form, says that something cannot or will not be done."""
    if not _MAYBE.search(sentence):
        return False
    for cue in _CUE.finditer(sentence):
        before, after = sentence[max(0, cue.start() - _NEAR) : cue.start()], sentence[cue.end() : cue.end() + _NEAR]
        if _CONDITION.search(before) or _UNDONE.search(before):
            continue
        if _NOTICE_BEFORE.search(before) or _NOTICE_AFTER.search(after):
            continue
        if _POLITE.match(after) or _SEARCHING.match(after) or _POSTPONED.search(after):
            continue
        return True
    return False


def refusal_in(text: str, cues: tuple[str, ...] = ()) -> str | None:
    """Give the first sentence of a text that refuses, as it stands in it.

    Args:
        text: What the agent said.
        cues: Further phrases that count, in normal form.
    """
    whole = normal(text)
    if not _MAYBE.search(whole) and not any(cue in whole for cue in cues):
        return None
    for sentence in sentences(text):
        plain = normal(sentence)
        if refuses(plain) or any(cue in plain for cue in cues):
            return sentence
    return None
