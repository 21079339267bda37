"""Finds the details (slots) that a sentence asks for; the domain supplies the patterns of each detail."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from simia_gym.language.conversation import understand
from simia_gym.language.cue import Cue
from simia_gym.language.text import Sentence

# In a sentence that also asks for consent, a detail counts as requested only after one of these phrases.
_DEMAND = re.compile(
    r"\b(?:what|which|where|how|why|provide|share|tell me|give me|send me|specify|choose|select|pick|indicate"
    r"|(?:confirm|verify) (?:the|your|both|me|his|her)|let me know (?:what|which|where|how|why|the|your))\b"
)
_WEAK = re.compile(r"^(?:confirm|verify)")
_FIELD = re.compile(r"^[\w ()-]{1,40}: ?\S")
_VALUE = re.compile(r"\d{4,}|\S@\S{1,99}\.\S|\$ ?\d")
_REACH = 90


@dataclass(frozen=True, slots=True)
class Detail:
    """The patterns by which agents ask for a detail, and the reply of a user who does not know it.

    Attributes:
        ask: Patterns that apply in sentences that ask for something.
        direct: Patterns that apply in any sentence, even one that asks for consent.
        unknown: Lines of a user who does not know the detail.
        quiet: Whether such a user ignores the question if it can answer another question of the same message.
    """

    ask: Cue
    direct: Cue
    unknown: tuple[str, ...] = ()
    quiet: bool = False


def asked(sentence: Sentence, details: Mapping[str, Detail]) -> list[str]:
    """Names of the domain's details that a sentence asks for, in order of mention."""
    said = understand(sentence)
    text, confirms = sentence.plain, "confirm" in said.acts
    if not (confirms or said.requests or _asks_for_items(sentence.head)):
        return []
    valued = _VALUE.search(text) is not None
    if valued and not sentence.question and _FIELD.search(text):
        return []  # "email on file: a@b.com" states a detail and does not ask for it
    regions = [(0, text, False)]
    if confirms:
        regions = [
            (demand.end(), text[demand.end() : demand.end() + _REACH], _WEAK.match(demand[0]) is not None)
            for demand in _DEMAND.finditer(text)
        ]
    found: list[tuple[int, str]] = []
    for name, detail in details.items():
        at = detail.direct.find(text)
        for start, region, weak in regions if at is None else ():
            hit = detail.ask.find(region)
            if hit is not None and not (weak and (valued or hit > 30)):
                at = start + hit
                break
        if at is not None:
            found.append((at, name))
    return [name for _, name in sorted(found)]


def _asks_for_items(head: str) -> bool:
    """Whether a heading asks for the items listed below it: "please give me:" does, "please confirm:" does not."""
    if not head:
        return False
    said = understand(Sentence(head, head))
    return said.requests and ("confirm" not in said.acts or _DEMAND.search(head) is not None)
