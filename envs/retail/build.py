"""Build the shop's database from a seed, as it stands in ``state.json``."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from simia_gym.envs._tau2.people import FIRST_NAMES, LAST_NAMES, make_address, make_user
from simia_gym.envs._tau2.rows import Tables
from simia_gym.envs.retail.catalogue import TYPES, make_product
from simia_gym.envs.retail.orders import Status, make_order

SEED = 20_240
N_VARIANTS, N_USERS, N_ORDERS = 150, 40, 100
STATE_FILE = Path(__file__).with_name("state.json")


def build() -> Tables:
    """Draw a whole database: every product type of the catalogue, users, and orders.

    It is the same bytes on every machine. Every user has at least one order; two users share a name and
    differ in postal code.

    Returns:
        The tables ``products``, ``users`` and ``orders``.
    """
    rng = random.Random(SEED)
    taken: set[str] = set()
    products: dict[str, dict[str, Any]] = {}
    for kind, n in zip(TYPES, _shares(rng), strict=True):
        product = make_product(rng, kind.name, kind, n, taken)
        products[product["product_id"]] = product
    users: dict[str, dict[str, Any]] = {}
    names = list(zip(rng.sample(FIRST_NAMES, N_USERS), rng.sample(LAST_NAMES, N_USERS), strict=True))
    names[-1] = names[0]
    for name in names:
        user = make_user(rng, taken, name=name)
        users[user["user_id"]] = user
    orders: dict[str, dict[str, Any]] = {}
    owners = [*users, *rng.choices(sorted(users), k=N_ORDERS - N_USERS)]
    statuses = _statuses(rng)
    for owner, status in zip(owners, statuses, strict=True):
        elsewhere = make_address(rng) if rng.random() < 0.15 else None
        order = make_order(rng, users[owner], products, taken, status=status, address=elsewhere)
        orders[order["order_id"]] = order
    return {"products": products, "users": users, "orders": orders}


def _shares(rng: random.Random) -> list[int]:
    """The number of variants of each type: 5 to 10 each, ``N_VARIANTS`` in total."""
    shares = [N_VARIANTS // len(TYPES)] * len(TYPES)
    for index in range(N_VARIANTS - sum(shares)):
        shares[index % len(shares)] += 1
    for _ in range(len(TYPES) * 2):
        giver, taker = rng.sample(range(len(TYPES)), 2)
        if shares[giver] > 5 and shares[taker] < min(10, TYPES[taker].combinations):
            shares[giver] -= 1
            shares[taker] += 1
    return shares


def _statuses(rng: random.Random) -> list[Status]:
    shares: dict[Status, int] = {"pending": 42, "delivered": 38, "processed": 10, "cancelled": 10}
    statuses = [status for status, percent in shares.items() for _ in range(N_ORDERS * percent // 100)]
    rng.shuffle(statuses)
    return statuses


def load_tables() -> Tables:
    """Read the database file; each call returns new objects."""
    tables: Tables = json.loads(STATE_FILE.read_text(encoding="utf-8"))
    return tables
