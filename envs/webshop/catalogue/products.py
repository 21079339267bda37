"""Reads products in the format of the public WebShop product file and turns them into rows of the shop's state."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from simia_gym.errors import InputError
from simia_gym.types import JsonObject

_TEXT_FIELDS = ("asin", "name", "category", "query", "product_category")
_NUMBER = re.compile(r"[^\d.]")
_DEFAULT_PRICE = 100.0
"""Price in dollars of a product without a price, as in the published shop."""
NO_ATTRIBUTES = ["DUMMY_ATTR"]
"""Attributes of a product that has none, as in the published shop."""


@dataclass(frozen=True)
class Shelf:
    """The content of a product file.

    Attributes:
        rows: Normalised products by id, in file order.
        duplicates: Number of entries that were skipped because they repeat an id.
        broken: Errors of the entries that were skipped because they are invalid.
    """

    rows: dict[str, JsonObject]
    duplicates: int
    broken: tuple[InputError, ...]


def shelve(items: Iterable[Any], where: str, attributes: Mapping[str, Any] | None = None) -> Shelf:
    """Normalise many products, leaving out broken and repeated ones.

    Args:
        items: Decoded entries of a product file.
        where: The file, for error messages.
        attributes: Attribute phrases by product id, from a separate file; they replace the product's own.

    Returns:
        The rows, and the skipped entries.
    """
    rows: dict[str, JsonObject] = {}
    duplicates = 0
    broken: list[InputError] = []
    for index, raw in enumerate(items):
        try:
            row = normalise(raw, where=f"{where}[{index}]")
        except InputError as error:
            broken.append(error)
            continue
        if row["asin"] in rows:
            duplicates += 1
            continue
        if attributes is not None and row["asin"] in attributes:
            row["attributes"] = list(attributes[row["asin"]])
        rows[row["asin"]] = row
    return Shelf(rows, duplicates, tuple(broken))


def normalise(raw: Any, where: str) -> JsonObject:
    """Turn one entry of a product file into a row: published option names and values, price and text fields.

    Args:
        raw: The decoded entry.
        where: File and position, for error messages.

    Returns:
        A new row.

    Raises:
        InputError: Names the position, the field and what to do.
    """
    if not isinstance(raw, Mapping):
        raise InputError("a product must be a JSON object", where=where, fix="Remove the entry or mend it.")
    for name in _TEXT_FIELDS:
        if not isinstance(raw.get(name), str):
            found = type(raw[name]).__name__ if name in raw else "missing"
            raise InputError(f"the field {name!r} is {found}", where=where, fix=f"Give {name!r} as text.")
    asin = raw["asin"].strip().upper()
    if not asin or asin == "NAN" or len(asin) > 10:
        raise InputError(f"asin {raw['asin']!r} is no product id", where=where, fix="Use 1 to 10 characters.")
    pricing = _pricing(raw.get("pricing"), where)
    return {
        "asin": asin,
        "title": raw["name"],
        "category": raw["category"],
        "query": raw["query"].lower().strip(),
        "product_category": raw["product_category"],
        "description": str(raw.get("full_description") or ""),
        "bullets": _bullets(raw.get("small_description"), where),
        "price_tag": _price_tag(pricing),
        "price": sample_price(asin, pricing),
        "options": _options(raw.get("customization_options"), where),
        "attributes": _attributes(raw.get("Attributes"), where),
        "rating": str(raw.get("Rating") or "N.A."),
        "reviews": [_review(review, where) for review in raw.get("Reviews") or ()],
    }


def sample_price(asin: str, pricing: list[float]) -> float:
    """A product's price: its single price, or a uniform draw from its price range.

    The published shop draws from the global random generator, so that prices differ between runs. Here the draw depends
    only on the product's id.

    Args:
        asin: The product's id.
        pricing: No price, one price, or the two ends of a range.

    Returns:
        The price in dollars.
    """
    if not pricing:
        return _DEFAULT_PRICE
    if len(pricing) == 1:
        return pricing[0]
    seed = int.from_bytes(hashlib.sha256(f"price of {asin}".encode()).digest()[:8], "big")
    return random.Random(seed).uniform(*pricing[:2])


def _pricing(text: Any, where: str) -> list[float]:
    if text is None or text == "" or text == []:
        return []
    if isinstance(text, list) and all(isinstance(item, int | float) for item in text):
        return [float(item) for item in text[:2]]
    if not isinstance(text, str):
        fix = "Write '$12.99' or '$10.99 to $14.99', or leave it out."
        raise InputError(f"the field 'pricing' is a {type(text).__name__}", where=where, fix=fix)
    try:
        prices = [float(_NUMBER.sub("", part)) for part in text.split("$")[1:]]
    except ValueError:
        prices = []
    if not prices:
        fix = "Write '$12.99' or '$10.99 to $14.99', or leave it out."
        raise InputError(f"pricing {text!r} holds no price", where=where, fix=fix)
    return prices[:2]


def _price_tag(pricing: list[float]) -> str:
    if not pricing:
        return f"${_DEFAULT_PRICE}"
    return " to ".join(f"${price}" for price in pricing)


def _bullets(value: Any, where: str) -> list[str]:
    bullets = value if isinstance(value, list) else [value or ""]
    if not all(isinstance(bullet, str) for bullet in bullets):
        fix = "Write a list of texts."
        raise InputError("the field 'small_description' is no list of texts", where=where, fix=fix)
    return list(bullets)


def _options(value: Any, where: str) -> dict[str, list[str]]:
    if not value:
        return {}
    fix = "Write {name: [{'value': text}, ...]}."
    if not isinstance(value, Mapping):
        raise InputError(f"the field 'customization_options' is a {type(value).__name__}", where=where, fix=fix)
    options: dict[str, list[str]] = {}
    for name, contents in value.items():
        if contents is None:
            continue
        try:
            options[name.lower()] = [item["value"].strip().replace("/", " | ").lower() for item in contents]
        except (TypeError, KeyError, AttributeError) as error:
            raise InputError(f"customization_options.{name} is no list of values", where=where, fix=fix) from error
    return options


def _attributes(value: Any, where: str) -> list[str]:
    if value is None:
        return list(NO_ATTRIBUTES)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InputError("the field 'Attributes' is no list of texts", where=where, fix="Write a list of phrases.")
    return list(value)


def _review(value: Any, where: str) -> JsonObject:
    if not isinstance(value, Mapping):
        raise InputError("a review is no JSON object", where=where, fix="Write {'title', 'score', 'body'}.")
    score = value.get("score", value.get("stars", ""))
    return {
        "title": str(value.get("title", "")),
        "score": score,
        "body": str(value.get("body", value.get("review", ""))),
    }
