"""Parses a shopper's request: the kind of product, attributes, option values, and the price bound."""

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
    """A parsed request.

    Attributes:
        thing: The kind of product.
        attributes: Wanted attribute phrases.
        options: Wanted option value by option name.
        bound: Maximum price in dollars; ``None`` if the request has no price bound.
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
    """Parse a request in the phrasings of this shop's generated requests.

    A request in another phrasing becomes a long ``thing`` without attributes, which still works as a search query.
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
