"""Which details a sentence asks for: the words come from a domain, the way of asking from the conversation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from simia_gym.language.conversation import understand
from simia_gym.language.cue import Cue
from simia_gym.language.text import Sentence

# What must stand before a detail in a sentence that also asks for a yes, so that the detail counts as asked for.
_DEMAND = re.compile(
    r"\b(?:what|which|where|how|why|provide|share|tell me|give me|send me|specify|choose|select|pick|indicate"
    r"|(?:confirm|verify) (?:the|your|both|me|his|her)|let me know (?:what|which|where|how|why|the|your))\b"
)
_WEAK = re.compile(r"^(?:confirm|verify)")
_FIELD = re.compile(r"^[\w ()-]{1,40}: ?\S")
_VALUE = re.compile(r"\d{4,}|\S@\S+\.\S|\$ ?\d")
_REACH = 90


@dataclass(frozen=True, slots=True)
class Detail:
    """How a detail of a domain is asked for, and what is said by a user who does not have it.

    Attributes:
        ask: Patterns that count in sentences that ask for something.
        direct: Patterns that count in any sentence, even one that asks for a yes.
        unknown: What a user says who does not have it.
        quiet: Whether such a user passes it over if it can answer another question instead.
    """

    ask: Cue
    direct: Cue
    unknown: tuple[str, ...] = ()
    quiet: bool = False


def asked(sentence: Sentence, details: Mapping[str, Detail]) -> list[str]:
    """Name the details that a sentence asks for, in order of mention.

    Args:
        sentence: The sentence.
        details: The domain's details by name.
    """
    said = understand(sentence)
    text, confirms = sentence.plain, "confirm" in said.acts
    if not (confirms or said.requests or _asks_for_items(sentence.head)):
        return []
    valued = _VALUE.search(text) is not None
    if valued and not sentence.question and _FIELD.search(text):
        return []  # "email on file: a@b.com" tells something and asks for nothing
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
    """Whether a line asks for what is listed below it: "please give me:" does, "please confirm:" does not."""
    if not head:
        return False
    said = understand(Sentence(head, head))
    return said.requests and ("confirm" not in said.acts or _DEMAND.search(head) is not None)
