"""Identifiers in the shapes that retail agents know: ``#W1234567``, ten digits, ``first_last_1234``."""

from __future__ import annotations

import random
from collections.abc import Mapping

from simia_gym.types import Row


def fresh_id(rng: random.Random, taken: set[str], *, prefix: str = "", digits: int = 10) -> str:
    """Draw an identifier that is not in use yet, and mark it as used.

    Args:
        rng: Source of chance.
        taken: Identifiers in use; the new one is added.
        prefix: What stands before the digits.
        digits: How many digits; the first is never 0, so that the length is fixed.

    Returns:
        The new identifier.
    """
    low, high = 10 ** (digits - 1), 10**digits
    while True:
        value = f"{prefix}{rng.randrange(low, high)}"
        if value not in taken:
            taken.add(value)
            return value


def product_id(rng: random.Random, taken: set[str]) -> str:
    """A new product id."""
    return fresh_id(rng, taken)


def item_id(rng: random.Random, taken: set[str]) -> str:
    """A new item id; same shape as a product id and unrelated to it."""
    return fresh_id(rng, taken)


def order_id(rng: random.Random, taken: set[str]) -> str:
    """A new order id."""
    return fresh_id(rng, taken, prefix="#W", digits=7)


def tracking_id(rng: random.Random, taken: set[str]) -> str:
    """A new parcel number."""
    return fresh_id(rng, taken, digits=12)


def user_id(rng: random.Random, taken: set[str], first_name: str, last_name: str) -> str:
    """A new user id that begins with the user's name."""
    return fresh_id(rng, taken, prefix=f"{first_name}_{last_name}_".lower(), digits=4)


def payment_method_id(rng: random.Random, taken: set[str], source: str) -> str:
    """A new id of a payment method that begins with its kind."""
    return fresh_id(rng, taken, prefix=f"{source}_", digits=7)


def ids_in_use(tables: Mapping[str, Mapping[str, Row]]) -> set[str]:
    """Every identifier of a set of tables, so that new rows get others.

    Args:
        tables: The tables ``products``, ``users`` and ``orders``.

    Returns:
        Ids of products, items, users, payment methods, orders and parcels.
    """
    taken: set[str] = set()
    for product in tables["products"].values():
        taken.add(str(product["product_id"]))
        variants = product["variants"]
        if isinstance(variants, dict):
            taken.update(variants)
    for user in tables["users"].values():
        taken.add(str(user["user_id"]))
        methods = user["payment_methods"]
        if isinstance(methods, dict):
            taken.update(methods)
    for order in tables["orders"].values():
        taken.add(str(order["order_id"]))
        fulfillments = order["fulfillments"]
        if isinstance(fulfillments, list):
            for parcel in fulfillments:
                taken.update(parcel["tracking_id"])
    return taken
