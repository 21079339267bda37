from __future__ import annotations

from typing import Any

import pytest

from simia_gym.envs.webshop.catalogue.products import normalise, sample_price
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


def test_the_published_file_has_some_fields_in_two_spellings() -> None:
    reviews = [{"title": "A", "stars": 4, "review": "x"}, {"title": "B", "score": 2}]
    row = normalise(entry(Reviews=reviews, Rating=3.5, small_description="Only."), "f")
    assert row["reviews"] == [{"title": "A", "score": 4, "body": "x"}, {"title": "B", "score": 2, "body": ""}]
    assert (row["rating"], row["bullets"]) == ("3.5", ["Only."])


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"name": "absent"}, "name"),
        ({"query": 7}, "query"),
        ({"asin": "nan"}, "asin"),
        ({"asin": "B0ABCDEFGHI"}, "asin"),
        ({"pricing": "cheap"}, "pricing"),
        ({"pricing": 12}, "pricing"),
        ({"pricing": "$1.2.3"}, "pricing"),
        ({"small_description": [1]}, "small_description[0]"),
        ({"customization_options": ["red"]}, "customization_options"),
        ({"customization_options": {"color": ["red"]}}, "customization_options.color[0]"),
        ({"Attributes": "soft"}, "Attributes"),
        ({"Reviews": ["good"]}, "Reviews[0]"),
    ],
)
def test_mistakes_are_named(changes: JsonObject, place: str) -> None:
    with pytest.raises(InputError) as caught:
        normalise(entry(**changes), "items.json[3]")
    assert caught.value.where == f"items.json[3].{place}"
