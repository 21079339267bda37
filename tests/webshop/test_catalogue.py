from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping

import pytest

from simia_gym.envs.webshop.catalogue.catalogue import tables
from simia_gym.envs.webshop.catalogue.vocabulary import CATEGORIES, Category
from simia_gym.envs.webshop.matching import normalize_color, nouns, similar
from simia_gym.envs.webshop.scoring import same_option
from simia_gym.types import JsonObject


def test_size(products: Mapping[str, JsonObject]) -> None:
    assert len(products) == 480
    assert set(Counter(row["query"] for row in products.values()).values()) == {20}
    assert len({row["category"] for row in products.values()}) >= 5
    assert len({row["title"] for row in products.values()}) == 480


def test_the_catalogue_is_always_the_same() -> None:
    first = tables()
    tables.cache_clear()
    assert tables() is not first
    assert tables() == first


@pytest.mark.parametrize("category", CATEGORIES, ids=lambda category: category.query)
def test_words_of_a_category_tell_apart(category: Category) -> None:
    """A goal discriminates only if nothing that is not meant matches."""
    assert len(set(category.attributes)) == len(category.attributes)
    for one, other in itertools.combinations(category.attributes, 2):
        assert not similar(one, other), (one, other)
    for values in category.options.values():
        for one, other in itertools.combinations([value.replace("/", " | ") for value in values], 2):
            assert not same_option(one, other), (one, other, normalize_color(one))
    for head in category.heads:
        assert set(category.query.split()) <= set(head.lower().split())
        assert nouns(category.heads[0]) & nouns(head)


def test_texts_promise_exactly_the_attributes(products: Mapping[str, JsonObject]) -> None:
    known = {category.query: category.attributes for category in CATEGORIES}
    for row in products.values():
        text = " ".join((row["title"], row["description"], *row["bullets"])).lower()
        assert {phrase for phrase in known[row["query"]] if phrase in text} == set(row["attributes"])
        features = " ".join(row["bullets"]).lower()
        assert all(phrase in features for phrase in row["attributes"])
