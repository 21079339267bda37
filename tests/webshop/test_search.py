from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simia_gym.envs.webshop.search import K1, TOP, B, SearchIndex, document, terms
from simia_gym.types import JsonObject

WORDS = ["lamp", "lamps", "red", "box", "boxes", "the", "berry", "berries", "tea", "glass"]


def product(text: str) -> JsonObject:
    return {"title": text, "description": "", "bullets": [], "options": {}}


def naive(texts: Sequence[str], query: str) -> list[tuple[int, int]]:
    """Place and score of every match by the formula, straightforwardly."""
    documents = [terms(text) for text in texts]
    average = sum(map(len, documents)) / len(documents)
    scores = []
    for place, words in enumerate(documents):
        score = 0
        for term in terms(query):
            holders = sum(term in other for other in documents)
            times = words.count(term)
            if times:
                rarity = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
                part = rarity * times / (times + K1 * (1 - B + B * len(words) / average))
                score += max(1, round(part * 1e6))
        if score:
            scores.append((place, score))
    return sorted(scores, key=lambda pair: (-pair[1], pair[0]))


@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), min_size=1, max_size=70),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
)
@settings(max_examples=150, deadline=None)
def test_equals_the_formula(texts: list[str], query: str) -> None:
    index = SearchIndex((str(place), product(text)) for place, text in enumerate(texts))
    expected = [str(place) for place, _ in naive(texts, query)][:TOP] if any(terms(text) for text in texts) else []
    assert list(index.results(query)) == expected
    assert index.results(query) is index.results(query)


def test_equal_scores_keep_catalogue_order_at_the_cut() -> None:
    index = SearchIndex((f"{place:03d}", product("plain mug")) for place in range(120))
    assert list(index.results("mug")) == [f"{place:03d}" for place in range(TOP)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Glasses of Berries", ["glasse", "berry"]),
        ("bus, gas & boss", ["bus", "gas", "boss"]),
        ("12 OZ. (pack of 3)", ["12", "oz", "pack", "3"]),
        ("shoe shoes", ["shoe", "shoe"]),
    ],
)
def test_terms(text: str, words: list[str]) -> None:
    assert terms(text) == words


def test_document_is_title_description_first_bullet_options() -> None:
    options = {"color": ["red", "blue"], "size": ["s"]}
    row = {"title": "A Mug", "description": "Warm.", "bullets": ["One", "Two"], "options": options}
    assert document(row) == "a mug warm. one color: red, blue, and size: s"
