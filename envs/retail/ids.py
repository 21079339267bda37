"""Identifiers in the shapes that retail agents know: ``#W1234567``, ten digits, ``first_last_1234``."""

from __future__ import annotations

import random
from collections.abc import Mapping

from simia_gym.types import Row


def fresh_id(rng: random.Random, taken: set[str], *, prefix: str = "", digits: int = 10) -> str:
    """Draw an identifier that is not in use yet, and add it to those ``taken``; its first digit is never 0."""
    low, high = 10 ** (digits - 1), 10**digits
    while True:
        value = f"{prefix}{rng.randrange(low, high)}"
        if value not in taken:
            taken.add(value)
            return value


def ids_in_use(tables: Mapping[str, Mapping[str, Row]]) -> set[str]:
    """Every id of products, items, users, payment methods, orders and parcels, so that new rows get others."""
    taken: set[str] = set()
    for product in tables["products"].values():
        taken.update((product["product_id"], *product["variants"]))
    for user in tables["users"].values():
        taken.update((user["user_id"], *user["payment_methods"]))
    for order in tables["orders"].values():
        taken.add(order["order_id"])
        for parcel in order["fulfillments"]:
            taken.update(parcel["tracking_id"])
    return taken
