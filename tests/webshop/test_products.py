from __future__ import annotations

from typing import Any

import pytest

from simia_gym.envs.webshop.catalogue.products import normalise, sample_price, shelve
from simia_gym.errors import InputError
from simia_gym.types import JsonObject


def entry(**changes: Any) -> JsonObject:
    """A product as in the published file."""
    product = {
        "asin": "B0ABCDEFGH",
        "name": "Lamp",
        "category": "garden",
        "query": " Table Lamp ",
        "product_category": "Home › Lamps",
        "full_description": "Bright.",
        "small_description": ["One.", "Two."],
        "pricing": "$1,012.50",
        "customization_options": {
            "Color": [{"value": " Black/White ", "image": "x.jpg"}, {"value": "Red"}],
            "Size": None,
        },
        "images": ["lamp.jpg"],
    }
    return {key: value for key, value in {**product, **changes}.items() if value != "absent"}


def test_normalised_row() -> None:
    assert normalise(entry(), "file[0]") == {
        "asin": "B0ABCDEFGH",
        "title": "Lamp",
        "category": "garden",
        "query": "table lamp",
        "product_category": "Home › Lamps",
        "description": "Bright.",
        "bullets": ["One.", "Two."],
        "price_tag": "$1012.5",
        "price": 1012.5,
        "options": {"color": ["black | white", "red"]},
        "attributes": ["DUMMY_ATTR"],
        "rating": "N.A.",
        "reviews": [],
    }


@pytest.mark.parametrize(
    ("pricing", "tag"),
    [
        ("$12.99", "$12.99"),
        ("$10.00", "$10.0"),
        ("$10.99 to $14.99", "$10.99 to $14.99"),
        ("$1.00 $2.00 $3.00", "$1.0 to $2.0"),
        ([5.0], "$5.0"),
        (None, "$100.0"),
        ("", "$100.0"),
        ("absent", "$100.0"),
    ],
)
def test_price_tags_as_published(pricing: Any, tag: str) -> None:
    assert normalise(entry(pricing=pricing), "f")["price_tag"] == tag


def test_price_of_a_range_is_drawn_from_it_and_stays() -> None:
    prices = {sample_price(f"B{number:09d}", [10.0, 20.0]) for number in range(200)}
    assert all(10 <= price <= 20 for price in prices)
    assert len(prices) == 200
    assert 14 < sum(prices) / 200 < 16
    assert sample_price("B000000001", [10.0, 20.0]) == sample_price("B000000001", [10.0, 20.0])


def test_one_text_counts_as_one_bullet() -> None:
    assert normalise(entry(small_description="Only."), "f")["bullets"] == ["Only."]
    assert normalise(entry(small_description=None), "f")["bullets"] == [""]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "absent"}, ["items.json[3]", "'name' is missing", "as text"]),
        ({"query": 7}, ["'query' is int"]),
        ({"asin": "nan"}, ["no product id"]),
        ({"asin": "B0ABCDEFGHI"}, ["no product id", "1 to 10 characters"]),
        ({"pricing": "cheap"}, ["pricing 'cheap'", "$12.99"]),
        ({"pricing": 12}, ["'pricing' is a int"]),
        ({"pricing": "$1.2.3"}, ["holds no price"]),
        ({"small_description": [1]}, ["'small_description'"]),
        ({"customization_options": ["red"]}, ["'customization_options' is a list"]),
        ({"customization_options": {"color": ["red"]}}, ["customization_options.color"]),
        ({"Attributes": "soft"}, ["'Attributes'"]),
        ({"Reviews": ["good"]}, ["a review"]),
    ],
)
def test_mistakes_are_named(changes: JsonObject, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        normalise(entry(**changes), "items.json[3]")
    assert all(word in str(caught.value) for word in ["items.json[3]", *words])


def test_shelf_leaves_out_and_counts() -> None:
    shelf = shelve(
        [entry(), entry(name="Again"), entry(asin="b2", pricing="?"), 5, entry(asin="b3")], "f", {"B3": ["soft"]}
    )
    assert list(shelf.rows) == ["B0ABCDEFGH", "B3"]
    assert shelf.rows["B0ABCDEFGH"]["title"] == "Lamp"
    assert shelf.rows["B3"]["attributes"] == ["soft"]
    assert shelf.duplicates == 1
    assert [error.where for error in shelf.broken] == ["f[2]", "f[3]"]


def test_reviews_in_both_spellings() -> None:
    row = normalise(
        entry(Reviews=[{"title": "A", "stars": 4, "review": "x"}, {"title": "B", "score": 2}], Rating=3.5), "f"
    )
    assert row["reviews"] == [{"title": "A", "score": 4, "body": "x"}, {"title": "B", "score": 2, "body": ""}]
    assert row["rating"] == "3.5"
