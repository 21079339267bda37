"""Finds what a message denies: "I will not do it", and "I will do it" beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from simia_gym.language.clause import denies
from simia_gym.language.cue import Cue
from simia_gym.language.text import Sentence

_WILL_NOT = re.compile(
    r"(?:(?:i|we)(?:'\w+)?(?: (?:will|would|shall|do|am|are|have|want|intend|rather|decided|going|\w+ly))*"
    r" (?:not|never|hardly|under no|no (?:plans?|intention)|\w+n't)(?! (?:see|have|find|know|remember|locate))"
    r"|nobody|no one)\b"
    r"(?!.*(?:;|\b(?:but|so|instead|i will|i'll|i can)\b))"
)
_UNREAL = Cue(
    (
        r"\b(?:(?:only|just|merely) an? example|opposite|untrue|joking|kidding|a joke|a lie)\b",
        r"\bis (?:pure |mere |all )?(?:fiction|from an? (?:novel|story|book|film|movie))\b",
        r"\b(?:ignore|disregard|forget) (?:what (?:follows|comes)|the (?:next|following))\b",
        r"\bhypothetical|\bnothing to do with you",
        r"\bif\b[^.]{1,60}\b(?:were (?:allowed|permitted|possible)|(?:allowed|permitted) (?:it|that|this|me)"
        r"|(?:i|we) could)\b[^.]{0,60}\bi(?: would|'d)\b",
    )
)
_DENIAL = Cue(
    (
        r"n't\b|\b(?:not|cannot|never|hardly|nobody|no one|under no|no plan|no plans|no intention)\b",
        r"\b(?:none|nothing) \w|\b(?:impossible|unable|denied)\b|\bdeclin|\brefus|\breject|\bforbid",
        r"(?:^|, |\bis )no[.!]",
    )
)
_END = r"(?= *(?:[,;:.!?()]|$|- |and\b|but\b))"
_STATE = (
    r"[^,;:.!?()]{0,80}?\b(?:alone|aside|out|be|off|un(?:changed|touched|affected)|intact|(?:exactly |just )?(?:the"
    rf" same|as (?:is|before|planned|(?:it|they|you)(?: [a-z]+)?))){_END}"
)
_ID = r" (?:[a-z']+ ){0,4}#?(?=[a-z]+-?\d|\d+[a-z]|\d{5})[\w-]+"
_EXCEPT = (
    r"\b(?:not|skip|skipping|ignore|ignoring|omit|omitting|except|excepting|excluding|apart from|aside from|other than)"
    rf"{_ID}"
)
_SPARED = Cue(
    (
        rf"\b(?:leave|leaves|leaving|keep|keeps|keeping|kept|stay|stays|staying|remain|remains|remaining)\b{_STATE}",
        rf"\b(?:kept|stay|stays|staying|remain|remains|remaining)\b{_END}|\b(?:keep|keeps|keeping){_ID}{_END}",
        rf"\bnothing (?:\w+ ){{1,4}}(?:to|with){_ID}|\bnot (?:be )?(?:affect|touch|chang|concern|involv)ed\b|{_EXCEPT}",
        r"\b(?:unaffected|untouched|unchanged|skipped|excluded|ignored|omitted|exempt|left (?:out|alone|aside|off))\b",
    )
)
"""What a clause says of a thing that is not touched: "leave it alone", "it stays as it is", "not it", "except it"."""
_JOINT = re.compile(rf"(?=[,;:(]| - |\b(?:and|but|while|whereas)\b|{_EXCEPT})")
_SAID = (
    r"(?:it|that|this|all|everything|what|the (?:above|previous|last|first|preceding|foregoing)"
    r"|(?:this|that|the|my) (?:\w+ )?(?:idea|thought|plan|proposal|offer|suggestion|statement|message|sentence))\b"
)
_TAKEN_BACK = Cue(
    (
        rf"(?<!n't )(?<!not )\bforget (?:about )?{_SAID}",
        rf"\b(?:scratch|disregard|ignore|strike|erase|discard|retract|withdraw) {_SAID}",
        r"\b(?:cancel|drop|abandon|scrap) (?:this|that|the|my) (?:idea|thought|plan|proposal|offer)\b",
        r"\bwrong (?:customer|person|chat|window)\b|\bunsaid\b",
        r"\bnever ?mind(?:[.!]|$)|\b(?:it|that|this)(?: all)? back(?:[.!]|$)|\blet(?: us|'s) not\b",
        r"(?<!or )\bnot(?:[.!]|$)|, no(?:[.!]|$)",
        r"\b(?:it|that|this) (?:was|is) (?:an?|my) (?:\w+ )?(?:mistake|error|slip)\b",
    )
)
"""Takes back what was said before it."""
_PART = re.compile(r";|\bbut\b")
_CLAUSE = re.compile(r"[;:]|\bbut\b")
_TURN = re.compile(r"\b(?:instead|alternative\w*|however|but|rather|can|could)\b(?!'t| not)")
_WORD = re.compile(r"[\w#](?:[\w#'.-]*[\w#])?")
_EMPTY_WORDS = (
    "a", "able", "all", "also", "am", "an", "and", "are", "be", "believe", "but", "ca", "can", "cannot", "could",
    "course", "do", "does", "done", "following", "follows", "for", "going", "happen", "however", "i", "is", "it",
    "just", "kind", "may", "mean", "might", "must", "never", "no", "none", "not", "nothing", "now", "of", "or",
    "please", "really", "sha", "shall", "so", "sorry", "sort", "that", "that's", "the", "them", "this", "to", "true",
    "unfortunately", "we", "what", "will", "wo", "would", "you", "your",
)  # fmt: skip
_EMPTY = frozenset(word + end for word in _EMPTY_WORDS for end in ("", "n't", "'ll", "'m"))
"""Words that only say whether something is done, and by whom."""
_REFUSING = re.compile(
    r"isn|aren|ha[sd]|have|here|there|ever|perhaps|oh|wait|hmm|well|sadly|afraid|regret\w*|help|with|by|our|my|answer|one"
    r"|request|polic\w+|rules?|(?:im)?possible|allow\w*|permi\w+|unable|declin\w+|refus\w+|den(?:y|ied)|reject\w*|forbid\w*"
)
"""Words that only say that something is refused."""
_LEAD = 4
"""Words that may stand before what is denied."""


def after_withdrawal(text: str) -> str | None:
    """What a normalised sentence says from where it takes back all before; nothing if it does not."""
    at = _TAKEN_BACK.find(text)
    return None if at is None else text[at:]


def disowns(sentence: Sentence) -> bool:
    """Whether a sentence says that nothing of what stands around it will be done, and turns to nothing else."""
    plain = sentence.plain
    if sentence.question or not (_UNREAL.occurs(plain) or _DENIAL.occurs(plain)):
        return False
    clauses = _CLAUSE.split(plain)
    for at, clause in enumerate(clauses):
        if _UNREAL.occurs(clause) or (_DENIAL.occurs(clause) and all(map(_REFUSING.fullmatch, _substance(clause)))):
            return not turns(" ".join(clauses[at + 1 :]))
    return False


def parts(text: str) -> list[str]:
    """The parts of a sentence of which some may be denied and others not."""
    return _PART.split(text) if ";" in text or "but" in text else [text]


def turns(text: str) -> bool:
    """Whether a normalised text turns to what can be done."""
    return _TURN.search(text) is not None


def undenied(kept: Sequence[Sentence], every: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """Those sentences of a message that stand: neither "I will not do it" nor, beside it, "I will do it"."""
    clauses = [clause for one in every if not one.question for clause in parts(one.plain)]
    denied = {_substance(clause) for clause in clauses if denies(clause)} - {()}
    stands = (one for one in kept if not (_WILL_NOT.match(one.plain) or (denied and _denied(one.plain, denied))))
    return tuple(map(_without_spared, stands))


def _without_spared(sentence: Sentence) -> Sentence:
    """A sentence without its parts that say that a thing is left alone."""
    if not _SPARED.occurs(sentence.plain):
        return sentence
    return replace(sentence, plain="".join(part for part in _JOINT.split(sentence.plain) if not _SPARED.occurs(part)))


def _denied(text: str, denied: set[tuple[str, ...]]) -> bool:
    """Whether a clause says what is denied, maybe after some words and with more behind it."""
    sizes = set(map(len, denied))
    for clause in parts(text):
        words = () if denies(clause) else _substance(clause)
        if any(words[start : start + size] in denied for start in range(_LEAD) for size in sizes):
            return True
    return False


def _substance(text: str) -> tuple[str, ...]:
    """What a clause is about: "I will not cancel it" says "cancel"."""
    return tuple(word for word in _WORD.findall(text) if word not in _EMPTY)
