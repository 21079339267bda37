"""BM25 search over product texts, as Lucene computes it, with k1 = 0.9 and b = 0.4.

The published shop uses Lucene with these parameters and an English analyser. Here words are lower-cased runs of letters
and digits, Lucene's English stop words are left out, and plural endings are folded (Harman's weak stemmer); Lucene's
Porter stemmer folds more. Each word's contribution to a product's score is precomputed as an integer number of
millionths, so that sums are exact and the same on every machine. Products with equal scores keep the order of the
catalogue.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from simia_gym.state import FrozenList, State
from simia_gym.state.table import Table
from simia_gym.types import JsonObject, ToolCall

K1, B = 0.9, 0.4
TOP = 50
"""Maximum number of products in a search's results."""
_SCALE = 1_000_000
_REMEMBERED = 4_096
_KEPT = 4
_WORD = re.compile(r"[^\W_]+")
STOP_WORDS = frozenset(
    _WORD.findall(
        """
        a an and are as at be but by for if in into is it no not of on or such that the their then there
        these they this to was will with
        """
    )
)

Ints = npt.NDArray[np.int64]


def terms(text: str) -> list[str]:
    """The index terms of a text, in order."""
    return [_fold(word) for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


def _fold(word: str) -> str:
    if len(word) > 3:
        if word.endswith("ies") and not word.endswith(("eies", "aies")):
            return word[:-3] + "y"
        if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
            return word[:-1]
        if word.endswith("s") and not word.endswith(("us", "ss")):
            return word[:-1]
    return word


def document(product: Mapping[str, Any]) -> str:
    """The text by which a product is found: title, description, first bullet point, options."""
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product["options"].items())
    bullets = product["bullets"]
    return " ".join((product["title"], product["description"], bullets[0] if bullets else "", options)).lower()


class SearchIndex:
    """An inverted index with precomputed weights.

    Args:
        products: Id and normalised row of each product, in catalogue order.

    Attributes:
        results: Gives, for keywords, the ids of the best `TOP` products that contain one of the words, best first.
            Equal searches give the same immutable object, which states share.
    """

    def __init__(self, products: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        texts = {asin: document(product) for asin, product in products}
        self.ids = [*texts]
        self._postings = _weigh([Counter(terms(text)) for text in texts.values()])
        self.results = lru_cache(_REMEMBERED)(self._search)

    def _search(self, keywords: str) -> FrozenList:
        scores: Ints = np.zeros(len(self.ids), dtype=np.int64)
        for term, times in Counter(terms(keywords)).items():
            if term in self._postings:
                where, weights = self._postings[term]
                scores[where] += weights * times
        hits = np.flatnonzero(scores)
        order = hits[np.argsort(-scores[hits], kind="stable")][:TOP]
        return FrozenList(self.ids[place] for place in order)


def index_of(state: State) -> SearchIndex:
    """The index over a state's products, made once for all states that have the same ones."""
    return _index(state.table("products"))


@lru_cache(_KEPT)
def _index(products: Table | None) -> SearchIndex:
    return SearchIndex(() if products is None else products.rows())


def normalised(keywords: str) -> str:
    """Keywords in the normalised form that the session and the cache store."""
    return keywords.lower().strip()


def hits(state: State, call: ToolCall) -> dict[str, JsonObject]:
    """The results of a call of ``search``, as a table: keywords to product ids, best first."""
    keywords = normalised(str(call.arguments.get("keywords", "")))
    return {keywords: {"asins": index_of(state).results(keywords)}} if keywords else {}


def _weigh(counts: list[Counter[str]]) -> dict[str, tuple[Ints, Ints]]:
    """For each term, the indexes of the products that contain it and its contribution to their scores."""
    n = len(counts)
    lengths = [sum(count.values()) for count in counts]
    average = sum(lengths) / n if n else 0.0
    rows: dict[str, list[tuple[int, int]]] = {}
    for place, count in enumerate(counts):
        for term, times in count.items():
            rows.setdefault(term, []).append((place, times))
    postings: dict[str, tuple[Ints, Ints]] = {}
    for term, entries in rows.items():
        rarity = math.log(1 + (n - len(entries) + 0.5) / (len(entries) + 0.5))
        places = np.array([place for place, _ in entries], dtype=np.int64)
        weights = [
            # At least 1, so that every product that contains the word is found.
            max(1, round(_SCALE * rarity * times / (times + K1 * (1 - B + B * lengths[place] / average))))
            for place, times in entries
        ]
        postings[term] = (places, np.array(weights, dtype=np.int64))
    return postings
