"""Reads products in the format of the public WebShop product file and turns them into rows of the shop's state."""

from __future__ import annotations

import hashlib
import random
import re
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, Field, StringConstraints

from simia_gym.common.validation import validated
from simia_gym.types import JsonObject

_NOT_PART_OF_A_NUMBER = re.compile(r"[^\d.]")
_DEFAULT_PRICE = 100.0
"""Price in dollars of a product without a price, as in the published shop."""
NO_ATTRIBUTES = ["DUMMY_ATTR"]
"""Attributes of a product that has none, as in the published shop."""


def _product_id(value: str) -> str:
    if value == "NAN":
        raise ValueError("a product id is needed")
    return value


def _prices(value: Any) -> list[float]:
    """The ends of a price range, the one price, or none: of ``$12.99``, ``$10.99 to $14.99``, or a list of numbers."""
    if value is None or value == "":
        return []
    if isinstance(value, list):
        return value[:2]
    try:
        prices = [float(_NOT_PART_OF_A_NUMBER.sub("", part)) for part in value.split("$")[1:]]
    except (AttributeError, ValueError):
        prices = []
    if not prices:
        raise ValueError("a price should be '$12.99', '$10.99 to $14.99', or left out")
    return prices[:2]


def _bullets(value: Any) -> Any:
    return value if isinstance(value, list) else [value or ""]


_Text = Annotated[str, BeforeValidator(str)]


class _Value(BaseModel):
    """One value of an option."""

    value: str


class _Review(BaseModel):
    """A review; some files name its parts differently."""

    title: _Text = ""
    score: Any = Field("", validation_alias=AliasChoices("score", "stars"))
    body: _Text = Field("", validation_alias=AliasChoices("body", "review"))


class _Entry(BaseModel):
    """One entry of a product file, under the published names."""

    asin: Annotated[
        str,
        StringConstraints(strip_whitespace=True, to_upper=True, min_length=1, max_length=10),
        AfterValidator(_product_id),
    ]
    name: str
    category: str
    query: str
    product_category: str
    full_description: Annotated[str, BeforeValidator(lambda value: str(value or ""))] = ""
    small_description: Annotated[list[str], BeforeValidator(_bullets)] = [""]
    pricing: Annotated[list[float], BeforeValidator(_prices)] = []
    customization_options: Annotated[dict[str, list[_Value] | None], BeforeValidator(lambda value: value or {})] = {}
    Attributes: list[str] | None = None
    Rating: Annotated[str, BeforeValidator(lambda value: str(value or "N.A."))] = "N.A."
    Reviews: Annotated[list[_Review], BeforeValidator(lambda value: value or [])] = []


def normalise(raw: Any, where: str) -> JsonObject:
    """Turn one entry of a product file into a row: published option names and values, price and text fields.

    Args:
        raw: The decoded entry.
        where: File and position, for error messages.

    Raises:
        InputError: Names the position, the field and what to do.
    """
    entry = validated(_Entry, raw, where=where, fix="Correct the entry or remove it.")
    return {
        "asin": entry.asin,
        "title": entry.name,
        "category": entry.category,
        "query": entry.query.lower().strip(),
        "product_category": entry.product_category,
        "description": entry.full_description,
        "bullets": entry.small_description,
        "price_tag": " to ".join(f"${price}" for price in entry.pricing or [_DEFAULT_PRICE]),
        "price": sample_price(entry.asin, entry.pricing),
        "options": {
            name.lower(): [item.value.strip().replace("/", " | ").lower() for item in values]
            for name, values in entry.customization_options.items()
            if values is not None
        },
        "attributes": list(NO_ATTRIBUTES) if entry.Attributes is None else entry.Attributes,
        "rating": entry.Rating,
        "reviews": [review.model_dump() for review in entry.Reviews],
    }


def sample_price(asin: str, pricing: list[float]) -> float:
    """A product's price in dollars: its single price, or a uniform draw from its price range.

    The published shop draws from the global random generator, so that prices differ between runs. Here the draw depends
    only on the product's id.

    Args:
        asin: The product's id.
        pricing: No price, one price, or the two ends of a range.
    """
    if not pricing:
        return _DEFAULT_PRICE
    if len(pricing) == 1:
        return pricing[0]
    seed = int.from_bytes(hashlib.sha256(f"price of {asin}".encode()).digest()[:8], "big")
    return random.Random(seed).uniform(*pricing)
