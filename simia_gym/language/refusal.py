"""Decides whether a sentence refuses something.

A rule that excludes something ("only pending orders can be cancelled") counts as a refusal. These are not refusals:
politeness ("I can't thank you enough"), failed searches ("I can't find that order"), conditions ("if you can't remember
it"), postponements ("I can't continue until you confirm"), warnings about consequences ("after this change you can't
cancel the order"), and denials of a refusal ("I never said I can't").
"""

from __future__ import annotations

import re

from simia_gym.language.clause import NEAR, OTHERS
from simia_gym.language.cue import Cue
from simia_gym.language.text import Sentence
from simia_gym.language.vocabulary import VERBS

_REFUSAL = Cue(
    (
        r"\b(?:can't|cannot|can not|couldn't|could not|unable|impossible|ineligible|prohibited|forbidden)\b",
        r"(?:\bnot|n't) (?:going to )?(?:be |been |currently |actually |even )?(?:able|possible|permitted|allowed"
        r"|eligible|entitled|authori[sz]ed|in a position|something (?:that )?(?:i|we))\b",
        r"\b(?:i|we)(?:'\w+| will| would| am| are)? (?:\w+ly )?(?:have to |must |need to |going to )?(?:\w+ly )?"
        r"(?:decline|declining|refuse|refusing|deny|denying)\b",
        r"\b(?:is|are|was|(?:has|have) been|(?:must|has to|have to) be) (?:declined|refused|denied)\b",
        r"\b(?:i|we) (?:won't|will not|wouldn't|would not|may not|must not|am not going to|do not|don't) (?:\w+ly )?"
        rf"(?:{VERBS}|do|make|process|proceed|issue|offer|provide|share|give|allow|help|assist|approve|accept|ship|send"
        r"|override|support|handle|grant|honou?r|request|submit|initiate|arrange|complete|carry|go ahead|redirect)\b",
        r"\b(?:does|do|did)(?:n't| not) (?:allow|permit|support|offer|qualify|meet|cover|let|satisfy"
        r"|fall (?:under|within|into)|apply (?:here|(?:to|in) (?:you|your|this|it)))\b",
        r"\b(?:isn't|aren't|is not|are not) (?:something|one (?:i|we)|within|covered|supported|offered)\b",
        r"\b(?:against|outside|not within) (?:of )?(?:\w+ )?(?:policy|policies|rules|scope|terms|authority)\b",
        r"\b(?:policy|policies|rule|rules|law) (?:prevents?|forbids?|bars?|stops?|prohibits?|disallows?|excludes?)\b",
        r"\bruled out\b|\bafraid not\b|\bnon-(?:refund|chang|cancell?|modifi|transfer|exchang|return)e?able\b",
        r"\b(?:i|we) (?:do not|don't) have (?:the |any )?(?:capability|ability|authority|permission|means|option)\b",
        r"(?:\bnot|n't) an option\b|\bno can do\b|\bprevented (?:by|from)\b",
        r"\b(?:i|we|me|us)\b[^.;?]{0,40}\b(?:turn|turning) (?:\w+ ){0,3}down\b",
    )
)
_STATED = Cue(
    (
        r"\bno way\b|\btoo late\b|\bmy hands are tied\b|\bout of the question\b|\boff the table\b",
        r"\b(?:can|may|could|will|must|am|are|is|'m|'re) (?:then )?\bonly (?:able|allowed|permitted|go|help|assist|do"
        r"|discuss|offer|process|make|issue|share|talk|accept|act|work|cancel|change|exchange|return|refund|send|look"
        r"|tell|serve|give|be|possible|for|available)\b(?! \w+ once\b)",
        r"\bonly\b[^.]{0,80}\b(?:can|may|could|are|is) (?:be )?(?:cancel|return|refund|exchang|chang|modif|accept"
        r"|eligib|allow|possib|valid)",
        r"\bno longer (?:an option|possible|available|able|eligible|open|accept|offer|something|be\b|cancel|chang"
        r"|return|modif)",
        r"(?:\bnot|n't) (?:\w+ly |yet |any longer |an? |something that is )?(?:available|offered|provided|supported"
        r"|approved|met|satisfied|fulfilled|removed|in stock|open|accept(?:ed|able)?|valid|applicable|granted|given"
        r"|(?:cancell?|return|refund|exchange|change)able|yours?|one of|among|part of|(?:under|on|in) your|linked"
        r"|associated|going to|reason|qualify)\b",
        r"\b(?:no|nothing(?! else| more| further)|none|neither|nobody)\b[^.,;()]{0,60}\b(?:can|may|could|will) (?:be"
        r"|go)\b",
        r"\bnone of\b[^.,;]{0,60}\b(?:apply|applies|met|satisfied|fulfilled)\b|\b(?:can|may|could|will) neither\b",
        r"\bthere(?:'s| is| are| will be) (?:no|nothing|neither)\b(?! (?:problem|issue|need|reason|charge|extra"
        r"|additional|cost|fee|rush|worr|doubt|difference|price|harm|hurry))",
        r"\b(?:say|said|saying|answer (?:is|stays|remains|must be|has to be)) (?:a |still )?no\b|, so no\b",
        r"\bbeyond (?:what|my|our)\b|\boutside (?:of )?(?:what|my|our|the)\b|\bsold out\b|\bout of stock\b",
        r"\b(?:may|must) not be\b|\bunavailable\b|\black (?:the )?(?:authority|permission|ability)\b",
        r"\bno (?:\w+ ){1,4}(?:is|are) (?:possible|allowed|permitted|available|offered|accepted|supported)\b",
        r"\bbelongs? to (?:somebody|someone|another|a different|other)\b",
        r"\b(?:won't|(?:will|shall) not) be (?:cancel|refund|exchang|chang|return|process|issu|given|giving|grant"
        r"|accept|offer|mak|made|doing|done|help)",
        r"\b(?:refunds?|money|it|amount|orders?|items?)\b[^.]{0,40}\b(?:must|has to|have to|need to"
        r"|needs to) (?:first )?(?:go|arrive|be (?:sent|refunded|returned|credited|delivered|received|here|pending))\b",
        r"\b(?:unfortunately|sorry|afraid|regret)\b[^.]{0,120}\balready (?:been )?(?:shipped|processed|delivered"
        r"|modified|changed|left|sent|packed|on its)",
    )
)
"""Refusals without any of the words above. They count only in statements, not in questions."""
_WITHDRAWAL = re.compile(
    r"\b(?:second thoughts?|back)\b"
    r"|\b(?:do|make|process|submit|request|(?:proceed|go ahead) with|carry out) (?:any of )?(?:that|this|it|so)\b"
)

_STEP = r"(?:change|modification|exchange|return|update|cancellation|request|refund|step|action)"
_TAKEN = r"(?:do|done|made|processed|(?:submit|complete|confirm|modif|chang|proceed|appl|exchang|updat)\w*)"
_WARNING = (
    rf"\b(?:after|once|following) (?:(?:this|that|the|your) {_STEP}|(?:this|that)\b(?! \w+ (?:ship|deliver))"
    rf"|(?:it|i|we|you)(?:'s|'ve| is| has been| have)? {_TAKEN})\b|\bafterwards?\b|\bfrom then on\b"
)
_BEFORE = re.compile(
    r"\b(?:if|in case|when|whenever|should|whether|let me know if|unless)\s+(?:you|it|this|that|i|we|they"
    r"|(?:the|your|any|one) \w+)\b[^,;:]*$"
    r"|\b(?:no reason(?: why)?|nothing|not that|no(?:t a)? \w+ that)\s+(?:\w+\s+){0,2}$|\bnot $"
    r"|\b(?:never|didn't|did not|nobody|not) (?:said?|saying|claim\w*|mean\w*|told)\b[^,;]*$"
    rf"|{_WARNING}|\b(?:can|will|may) only be (?:done|made|submitted) once\b|\b(?:choosing|doing) (?:this|that|it)\b"
)
"""What stands before words that then refuse nothing: a condition, a denial of a refusal, or a warning."""
_AFTER = re.compile(
    r"\b(?:until|before|without|unless)\b[^.]*\b(?:verif\w*|confirm\w*|authenticat\w*|identity|e-?mail|zip|log\s?in"
    r"|details?|information|ids?|your\s+(?:name|order|user|account|reply|answer|approval|consent|go-ahead)"
    rf"|you\s+(?:tell|give|provide|say|reply|agree|approve|choose|pick|select))\b|{_WARNING}"
)
"""What stands after them: what is postponed until the user has done something, or a warning."""
_POLITE = re.compile(
    r"\s*(?:(?:any ?thing|any|the|your|my)? ?(?:else|other|rest)\b"
    r"|but\s+\w+|be\s+anything\s+(?:but|other)|see\s+(?:why\s+not|any\s+(?:problem|issue|obstacle)|a\s+problem)"
    r"|\w+\s+(?:it|this|that|you)\s+(?:fast|soon|quickly|enough)|wait|thank|help\s+but|go\s+wrong|believe|stress"
    r"|emphasi[sz]e|apologi[sz]e\s+enough|imagine|express|say\s+enough|miss|recommend\s+\w+\s+enough"
    r"|be\s+(?:happier|more|better))\b"
)
_SEARCHING = re.compile(
    r"\s*(?:to\s+|be\s+able\s+to\s+)?(?:seem\s+to\s+)?(?:find|locate|see|tell(?!\s+(?:you|anyone|anybody|about))|recall"
    r"|read|open|look\s+up|retrieve|verify|identify|confirm|recogni[sz]e|hear|understand|determine|pull\s+up)\b"
    r"(?!\s+(?:any\s+)?(?:way|reason))"
)
_WARNED = re.compile(r"\b(?:ask|asking|aware|note|mind|remember|sure)\b[^.;]{0,60}$")
_UNDONE = re.compile(r" be (?:undone|reversed|reverted|taken back)\b")


def refuses(sentence: Sentence) -> bool:
    """Whether one sentence says that something cannot or will not be done."""
    return _finds(_REFUSAL, sentence.plain) or (not sentence.question and _finds(_STATED, sentence.plain))


def withdraws(sentence: Sentence) -> bool:
    """Whether one sentence that refuses takes back what was said before it."""
    return _WITHDRAWAL.search(sentence.plain) is not None


def _finds(refusal: Cue, sentence: str) -> bool:
    for found in refusal.matches(sentence):
        before, after = (
            sentence[max(0, found.start() - NEAR) : found.start()],
            sentence[found.end() : found.end() + NEAR],
        )
        searches = _SEARCHING.match(after) and not OTHERS.search(after)
        warns = _UNDONE.match(after) and _WARNED.search(before)
        if not (_BEFORE.search(before) or _AFTER.search(after) or _POLITE.match(after) or searches or warns):
            return True
    return False
