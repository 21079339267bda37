"""The words of the catalogue, read from ``vocabulary.json``: kinds of product, attributes, pools of option values.

An attribute is a short phrase that a shopper may ask for. Its sentence stands among a product's features if and only
if the product has the attribute, so a careful reader can always find out; no sentence uses another attribute's phrase.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple


class Attribute(NamedTuple):
    """One attribute.

    Attributes:
        form: How a request uses the phrase: "it should be PHRASE" or "it should have PHRASE".
        feature: The sentence on the features page; contains the phrase.
    """

    form: Literal["be", "have"]
    feature: str


@dataclass(frozen=True)
class Category:
    """One kind of product.

    Attributes:
        department: The shop's coarse category word.
        query: The phrase by which shoppers ask for this kind.
        ask: The same phrase with an article, as used in requests.
        path: Product category from coarse to fine.
        heads: Names of the kind in titles; each contains every word of ``query``.
        attributes: Phrases that products of this kind may have.
        options: Option name to the values that products draw from; the file may name one of its ``pools`` instead.
        prices: Lowest and highest price, in whole dollars.
        uses: Ends of titles, "for USE".
        story: Sentences for descriptions.
    """

    department: str
    query: str
    ask: str
    path: str
    heads: list[str]
    attributes: list[str]
    options: dict[str, list[str]]
    prices: list[int]
    uses: list[str]
    story: list[str]


def _category(entry: dict[str, Any], pools: dict[str, list[str]]) -> Category:
    options = {name: pools[values] if isinstance(values, str) else values for name, values in entry["options"].items()}
    return Category(**{**entry, "options": options})


_WORDS: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
CATEGORIES = tuple(_category(entry, _WORDS["pools"]) for entry in _WORDS["categories"])
ATTRIBUTES = {phrase: Attribute(*words) for phrase, words in _WORDS["attributes"].items()}
LINES: list[str] = _WORDS["lines"]
FIRST_SYLLABLES: list[str] = _WORDS["first_syllables"]
LAST_SYLLABLES: list[str] = _WORDS["last_syllables"]
