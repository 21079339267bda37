"""Finding customers, variants and products as the shop's tools do, over a state or a slice of it."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Any

from simia_gym.state import Draft, State
from simia_gym.state.table import Table
from simia_gym.types import Row


def find_by_email(db: Draft, email: str) -> list[str]:
    """Ids of the users with an email address; letter case is ignored."""
    return db.find("users", "email", _email, email.lower())


def find_by_name(db: Draft, first_name: str, last_name: Any, postal_code: Any) -> list[str]:
    """Ids of the users with a name and postal code.

    The parts are compared in order, so a last name that is no text is an error only if a user has the first name.
    """
    first = first_name.lower()
    if not isinstance(last_name, str) and not db.find("users", "first_name", _first_name, first):
        return []
    name = (first, last_name.lower())
    return db.find("users", "name_zip", _name_zip, (*name, postal_code)) if isinstance(postal_code, str) else []


def _email(_: str, user: Row) -> Hashable:
    return str(user["email"]).lower()


def _first_name(_: str, user: Row) -> Hashable:
    return str(user["name"]["first_name"]).lower()


def _name_zip(_: str, user: Row) -> Hashable:
    name = user["name"]
    return str(name["first_name"]).lower(), str(name["last_name"]).lower(), user["address"]["zip"]


def find_variant(state: State, item_id: str) -> Row | None:
    """The variant with an item id; ``None`` if no product has it."""
    table = state.table("products")
    keys = [] if table is None else table.keys_of("variants", _variants, item_id)
    return next((row["variants"][item_id] for key in keys if (row := state.get("products", key))), None)


def _variants(_: str, product: Row) -> Iterable[str]:
    variants: Row = product["variants"]
    return variants


def list_products(state: State) -> str:
    """Names and ids of all products as a JSON object, sorted by name."""
    return _listed(state.table("products"))


@lru_cache(maxsize=4)
def _listed(products: Table | None) -> str:
    rows = () if products is None else products.rows()
    return json.dumps({row["name"]: row["product_id"] for _, row in rows}, sort_keys=True)
