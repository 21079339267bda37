"""Reads a shopper's request: what kind of thing, which attributes, which option values, and at what price."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PRICE = re.compile(r",? *and price lower than ([0-9.]+) dollars\s*$")
_PUBLISHED_OPTIONS = re.compile(r" with ((?:[a-z0-9 ]+: [^:]+?)(?:, and [a-z0-9 ]+: [^:]+?)*)$")
_PICKED = re.compile(r"\bfor ([a-z0-9 ]+?) pick (.+?)(?=, for |$)")
_OPENER = re.compile(
    r"(?:^|.*\. )(?:i am looking for|i'm looking for|i need|find me|i want to buy|i want|i would like|can you get me"
    r"|please show me|show me)\s+(?:(?:a pair of|a set of|an?|some|the)\s+)?"
)
_WANTS = re.compile(r"\b(?:(?:that|it|and) )*should (?:be|have) ")


@dataclass(frozen=True)
class Request:
    """What a request asks for, as far as its words say.

    Attributes:
        thing: The kind of thing.
        attributes: Wanted attribute phrases.
        options: Wanted option value by option name.
        bound: The most it may cost; ``None`` if the request does not say.
    """

    thing: str
    attributes: tuple[str, ...]
    options: dict[str, str]
    bound: float | None

    @property
    def keywords(self) -> str:
        """Words to search for, all of them words of the request."""
        return " ".join((self.thing, *self.attributes, *self.options.values()))


def read_request(text: str) -> Request:
    """Read a request in the ways of speaking that this shop's shoppers have.

    A request that speaks otherwise comes out as a long ``thing`` with no attributes, which is still good to search for.

    Args:
        text: The instruction.
    """
    rest = text.strip().lower()
    bound = None
    price = _PRICE.search(rest)
    if price:
        bound = float(price.group(1))
        rest = rest[: price.start()]
    options: dict[str, str] = {}
    published = _PUBLISHED_OPTIONS.search(rest)
    if published:
        for part in published.group(1).split(", and "):
            name, _, value = part.partition(": ")
            options[name] = value
        rest = rest[: published.start()]
    else:
        picked = list(_PICKED.finditer(rest))
        options = {found.group(1): found.group(2) for found in picked}
        if picked:
            rest = rest[: picked[0].start()]
    thing, *wants = (part.strip(" .,") for part in _WANTS.split(rest))
    attributes = [phrase for want in wants for phrase in re.split(r", | and ", want) if phrase]
    return Request(_OPENER.sub("", thing).strip(" ."), tuple(attributes), options, bound)
