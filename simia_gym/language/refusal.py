"""Decides whether a sentence refuses something.

A rule that excludes something ("only pending orders can be cancelled") counts as a refusal. These are not refusals:
politeness ("I can't thank you enough"), failed searches ("I can't find that order"), conditions ("if you can't remember
it"), postponements ("I can't continue until you confirm"), warnings about consequences ("after this change you can't
cancel the order"), and denials of a refusal ("I never said I can't").
"""

from __future__ import annotations

import re

from simia_gym.language.clause import NEAR
from simia_gym.language.text import Sentence

_MAYBE = re.compile(
    r"n't|not\b|scratch|forget|regard|ignore|back\b|unable|declin|den(?:y|ied)|refus|ineligib|impossib"
    r"|prohibit|prevent|disallow|exclud|\bruled|\bturn|against|outside|forbid|\bonly\b|\bno\b"
    r"|\b(?:too late|neither|nothing|none|nobody|beyond|unavailable|tied|out of|off the|sold out|already|must|has to"
    r"|have to|needs? to|lack|non-\w+able|somebody else|someone else|another (?:customer|person|account))\b"
)

_ABLE = (
    r"(?:able|possible|permitted|allowed|eligible|entitled|authori[sz]ed|in\ a\ position"
    r"|something\ (?:that\ )?(?:i|we))"
)
_CUE = re.compile(
    rf"""
      \b(?:can't|cannot|can\ not|couldn't|could\ not)\b
    | \b(?:unable|impossible|ineligible|prohibited|forbidden)\b
    | (?:\bnot|n't)\ (?:going\ to\ )?(?:be\ |been\ |currently\ |actually\ |even\ )?{_ABLE}\b
    | \b(?:i|we)(?:'ll|'d|\ will|\ would)?\ (?:\w+ly\ )?(?:have\ to|must|need\ to|am\ going\ to
         |are\ going\ to)?\ ?(?:\w+ly\ )?(?:decline|refuse|deny)\b
    | \b(?:i|we)(?:'m|'re|\ am|\ are)\ (?:declining|refusing|denying)\b
    | \b(?:must|has\ to|have\ to)\ be\ (?:declined|refused|denied)\b
    | \b(?:is|are|was|has\ been|have\ been)\ (?:declined|refused|denied)\b
    | \b(?:i|we)\ (?:won't|will\ not|wouldn't|would\ not|may\ not|must\ not|am\ not\ going\ to|do\ not|don't)
      \ (?:\w+ly\ )?(?:do|make|process|proceed|cancel|change|modify|update|exchange|return|refund|issue|offer|provide
         |share|give|allow|help|assist|approve|accept|apply|add|remove|book|ship|send|override|support|handle|grant
         |honou?r|request|submit|initiate|arrange|complete|carry|go\ ahead|switch|swap|redirect)\b
    | \b(?:does|do|did)(?:n't|\ not)\ (?:allow|permit|support|offer|qualify|meet|cover|let|satisfy
         |fall\ (?:under|within|into)|apply\ (?:here|(?:to|in)\ (?:you|your|this|it)))\b
    | \b(?:isn't|aren't|is\ not|are\ not)\ (?:something|one\ (?:i|we)|within|covered|supported|allowed|offered)\b
    | \b(?:against|outside|not\ within|prohibited\ by|forbidden\ by)\ (?:of\ )?(?:\w+\ )?
      (?:policy|policies|rules|scope|terms|authority)\b
    | \b(?:policy|policies|rules?|law)\ (?:prevents?|forbids?|bars?|stops?|prohibits?|disallows?|excludes?)\b
    | \bruled\ out\b | \bafraid\ not\b | \bnon-(?:refund|chang|cancell?|modifi|transfer|exchang|return)e?able\b
    | \b(?:i|we)\ (?:do\ not|don't)\ have\ (?:the\ |any\ )?(?:capability|ability|authority|permission|means|option)\b
    | (?:\bnot|n't)\ an\ option\b | \bno\ can\ do\b | \bprevented\ (?:by|from)\b
    | \b(?:i|we|me|us)\b[^.;?]{{0,40}}\bturn(?:ing)?\ (?:\w+\ ){{0,3}}down\b
    """,
    re.VERBOSE,
)
# Refusals without any of the words above. They count only in statements, not in questions.
_WEAK = re.compile(
    r"""
      \bno\ way\b | \btoo\ late\b | \bmy\ hands\ are\ tied\b | \bout\ of\ the\ question\b | \boff\ the\ table\b
    | \b(?:can|may|could|will|must|am|are|is|'m|'re)\ (?:then\ )?only\ (?:able|allowed|permitted|go|help|assist|do
         |discuss|offer|process|make|issue
         |share|talk|accept|act|work|cancel|change|exchange|return|refund|send|look|tell|serve|give|be|possible|for
         |available)\b
         (?!\ \w+\ once\b)
    | \bonly\b[^.]{0,80}\b(?:can|may|could|are|is)\ (?:be\ )?(?:cancel|return|refund|exchang|chang|modif|accept
         |eligib|allow|possib|valid)
    | \bno\ longer\ (?:an\ option|possible|available|able|eligible|open|accept|offer|something|be\b|cancel|chang
         |return|modif)
    | (?:\bnot|n't)\ (?:\w+ly\ |yet\ |any\ longer\ |a\ |an\ |something\ that\ is\ )?(?:available|offered
         |provided|supported|approved|met|satisfied|fulfilled|removed
         |in\ stock|open|accepted|valid|acceptable|accept|applicable|granted|given|cancell?able|returnable|refundable
         |exchangeable|changeable|yours?|one\ of|among|part\ of|under\ your|on\ your|in\ your|linked|associated
         |going\ to
         |reason|qualify)\b
    | \b(?:no|nothing(?!\ else|\ more|\ further)|none|neither|nobody)\b[^.,;]{0,60}\b(?:can|may|could|will)
         \ (?:be|go)\b | \bnone\ of\b[^.,;]{0,60}\b(?:apply|applies|met|satisfied|fulfilled)\b | \b(?:can|may|could
         |will)\ neither\b
    | \bthere(?:'s|\ is|\ are|\ will\ be)\ (?:no|nothing|neither)\b
         (?!\ (?:problem|issue|need|reason|charge|extra|additional|cost|fee|rush|worr|doubt|difference|price|harm
         |hurry))
    | \bnothing\ (?:more\ |else\ |further\ )?(?:i|we|that\ i|that\ we)\ can\b
    | \b(?:say|said|saying|answer\ (?:is|stays|remains|must\ be|has\ to\ be))\ (?:a\ |still\ )?no\b | ,\ so\ no\b
    | \bbeyond\ (?:what|my|our)\b | \boutside\ (?:of\ )?(?:what|my|our|the)\b | \bsold\ out\b | \bout\ of\ stock\b
    | \b(?:may|must)\ not\ be\b
    | \bno\ (?:\w+\ ){1,4}(?:is|are)\ (?:possible|allowed|permitted|available|offered|accepted|supported)\b
    | \bunavailable\b | \black\ (?:the\ )?(?:authority|permission|ability)\b
    | \bbelongs?\ to\ (?:somebody|someone|another|a\ different|other)\b
    | \b(?:scratch\ (?:that|this)|forget\ (?:that|about\ (?:that|it))
         |(?:disregard|ignore)\ (?:that|this|the\ above)|(?:i|we)\ take\ (?:that|it|this)\ back)\b
    | \b(?:won't|will\ not|shall\ not)\ be\ (?:cancel|refund|exchang|chang|return|process|issu|given|giving|grant
         |accept|offer|mak|made
         |doing|done|help)
    | \b(?:refunds?|money|it|amount|orders?|items?)\b[^.]{0,40}\b(?:must|has\ to|have\ to|needs?\ to)\ (?:first\ )?
         (?:go|arrive|be\ (?:sent|refunded|returned|credited|delivered|received|here|pending))\b
    | \b(?:unfortunately|sorry|afraid|regret)\b[^.]{0,120}\balready\ (?:been\ )?
         (?:shipped|processed|delivered|modified|changed|left|sent|packed|on\ its)
    """,
    re.VERBOSE,
)

_WITHDRAWN = re.compile(
    r"\b(?:second thoughts?|scratch|forget|disregard|ignore|back)\b|\b(?:do|make|process|submit|request|proceed with"
    r"|go ahead with|carry out) (?:that|this|it|so|any of (?:it|that|this))\b"
)

_POLITE = re.compile(
    r"\s*(?:(?:any ?thing|any|the|your|my)? ?(?:else|other|rest)\b"
    r"|but\s+\w+|be\s+anything\s+(?:but|other)|see\s+(?:why\s+not|any\s+(?:problem|issue|obstacle)|a\s+problem)"
    r"|\w+\s+(?:it|this|that|you)\s+(?:fast|soon|quickly|enough)|wait|thank|help\s+but|go\s+wrong|believe|stress|emphasi[sz]e|apologi[sz]e\s+enough|imagine|express|say\s+enough"
    r"|miss|recommend\s+\w+\s+enough|be\s+(?:happier|more|better))\b"
)
_SEARCHING = re.compile(
    r"\s*(?:to\s+|be\s+able\s+to\s+)?(?:seem\s+to\s+)?(?:find|locate|see|tell(?!\s+(?:you|anyone|anybody|about))|recall|read|open|look\s+up|retrieve|verify"
    r"|identify|confirm|recogni[sz]e|hear|understand|determine|pull\s+up)\b(?!\s+(?:any\s+)?(?:way|reason))"
)
_CONDITION = re.compile(
    r"\b(?:if|in case|when|whenever|should|whether|let me know if|unless)\s+(?:you|it|this|that|i|we|they|the \w+|"
    r"your \w+|any \w+|one \w+)\b[^,;:]*$"
)
_UNDONE = re.compile(
    r"\b(?:no reason(?: why)?|nothing|not that|no(?:t a)? \w+ that)\s+(?:\w+\s+){0,2}$|\bnot $"
    r"|\b(?:never|didn't|did not|nobody|not) (?:said?|saying|claim\w*|mean\w*|told)\b[^,;]*$"
)
_OTHERS = re.compile(
    r"\b(?:some|any)(?:body|one) else\b|\b(?:an)?other (?:customers?|persons?|people|users?|accounts?)\b"
    r"|\bdifferent (?:customer|person|account)\b"
)
_POSTPONED = re.compile(
    r"\b(?:until|before|without|unless)\b[^.]*\b(?:verif\w*|confirm\w*|authenticat\w*|identity|e-?mail|zip|log\s?in"
    r"|details?|information|ids?|your\s+(?:name|order|user|account|reply|answer|approval|consent|go-ahead)|you\s+(?:tell|give|"
    r"provide|say|reply|agree|approve|choose|pick|select))\b"
)
_FINAL = re.compile(
    r"\b(?:ask|asking|aware|note|mind|remember|sure)\b[^.;]{0,60}\bcan(?:not|'t) be"
    r" (?:undone|reversed|reverted|taken back)\b"
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


def refuses(sentence: Sentence) -> bool:
    """Whether one sentence says that something cannot or will not be done."""
    if not _MAYBE.search(sentence.plain):
        return False
    plain = _FINAL.sub("", sentence.plain)
    return _finds(_CUE, plain) or (not sentence.question and _finds(_WEAK, plain))


def withdraws(sentence: Sentence) -> bool:
    """Whether one sentence that refuses takes back what was said before it."""
    return _WITHDRAWN.search(sentence.plain) is not None


def _finds(cues: re.Pattern[str], sentence: str) -> bool:
    for cue in cues.finditer(sentence):
        before, after = sentence[max(0, cue.start() - NEAR) : cue.start()], sentence[cue.end() : cue.end() + NEAR]
        if _CONDITION.search(before) or _UNDONE.search(before):
            continue
        if _NOTICE_BEFORE.search(before) or _NOTICE_AFTER.search(after):
            continue
        if _POLITE.match(after) or _POSTPONED.search(after):
            continue
        if _SEARCHING.match(after) and not _OTHERS.search(after):
            continue
        return True
    return False
