"""Finds a question that asks for a yes to something else than what is proposed, as "Shall I add you to our list?"."""

from __future__ import annotations

import re

from simia_gym.language.text import Sentence

_OFFER = re.compile(
    r"\b(?:shall|should|may|can|could) (?:i|we) \w|\b(?:like|want|wish) (?:me|us) to \w"
    r"|\b(?:would|do) you (?:like|want|wish) to \w"
)
_ELSE = re.compile(r"\b(?:else|help|assist|more|other|further|questions?)\b")
"""What a question for anything else says."""
_THIS = re.compile(
    r"\b(?:this|that|these|those|it|them|everything|all|above|below|following|so|go ahead|proceed|continue)\b"
)
"""What points at the proposal."""
_WORD = re.compile(r"[a-z]{3,}")
_PLAIN = re.compile(
    r"about|accept|accurate|agree|agreed|alright|and|any|approval|approve|are|authorization|authorize|before|"
    r"can|carry|change|changes|check|clear|comfortable|complete|confirm|confirmation|consent|correct|could|"
    r"decide|decision|detail|details|did|does|each|explicit|explicitly|final|finalise|finalize|fine|first|for|"
    r"forward|from|give|good|green|had|happy|has|have|here|how|information|its|just|kindly|know|let|light|like|look|looks|"
    r"make|may|mind|move|must|need|not|now|number|okay|one|only|option|options|our|out|over|perform|permission|"
    r"plan|please|prefer|process|proposal|proposed|ready|reply|request|respond|right|said|say|see|shall|should|"
    r"sound|sounds|step|still|submit|summary|sure|take|the|then|there|they|type|understand|understood|update|"
    r"want|was|way|were|what|when|whether|which|will|wish|with|word|work|works|would|yes|yet|you|your|yourself"
)
"""Words of any request for a yes."""
_FEW = 1
"""So many other words a question about the proposal may have."""
_STEM = 5


def offers(sentence: Sentence) -> bool:
    """Whether a sentence offers a deed, and not just help: "Shall I ...", "Would you like me to ..."."""
    return _OFFER.search(sentence.plain) is not None and not _ELSE.search(sentence.plain)


def asks_beside(sentence: Sentence, context: str) -> bool:
    """Whether a sentence that asks for a yes asks about something of which nothing else speaks.

    Args:
        sentence: A sentence that asks for a yes.
        context: The words of the rest of the message, and of what the user wants.
    """
    if not sentence.question or _THIS.search(sentence.plain):
        return False
    words = {word for word in _WORD.findall(sentence.plain) if not _PLAIN.fullmatch(word)}
    return sum(word[:_STEM] not in context for word in words) > _FEW
