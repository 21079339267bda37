"""The people, goods and orders that a generated task adds to the shop.

The users, products and orders that a task is about exist in no other task, so that a policy cannot memorise them. A
customer's other orders are filled with items of the base catalogue.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from simia_gym.envs.retail.build import Tables, load_tables
from simia_gym.envs.retail.catalogue import fresh_name, make_product
from simia_gym.envs.retail.orders import Status, make_order
from simia_gym.envs.retail.rows import ids_in_use
from simia_gym.service.people import FIRST_NAMES, LAST_NAMES, make_user
from simia_gym.state import State, make_pointer
from simia_gym.types import JsonObject, Op


@cache
def base_tables() -> Tables:
    """The embedded database; not to be changed."""
    return load_tables()


@cache
def base_state() -> State:
    """The embedded database as a state."""
    return State.from_tables(base_tables())


@cache
def _base_ids() -> frozenset[str]:
    return frozenset(ids_in_use(base_tables()))


@cache
def _base_names() -> frozenset[tuple[str, str]]:
    return frozenset((u["name"]["first_name"], u["name"]["last_name"]) for u in base_tables()["users"].values())


class Cast:
    """Draws the rows that a task needs and collects them as changes to the initial state.

    Args:
        seed: Random seed.

    Attributes:
        mode: How customers say which order they mean: ``said``, ``asked``, ``unknown``; drawn each time if not set.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.mode: str | None = None
        self.products: dict[str, JsonObject] = {}
        self.users: dict[str, JsonObject] = {}
        self.orders: dict[str, JsonObject] = {}
        self._taken = set(_base_ids())
        self._product_names: set[str] = set()
        self._user_names: set[tuple[str, str]] = set(_base_names())

    def user(self, sources: Sequence[str] | None = None, *, gift_balance: float | None = None) -> JsonObject:
        """A new user with payment methods of the given kinds, two or three kinds if not given."""
        rng = self.rng
        if sources is None:
            sources = rng.choice(
                (
                    ("credit_card", "paypal"),
                    ("credit_card", "gift_card", "paypal"),
                    ("paypal", "gift_card", "credit_card"),
                )
            )
        while True:
            name = (rng.choice(FIRST_NAMES), rng.choice(LAST_NAMES))
            if name not in self._user_names:
                break
        self._user_names.add(name)
        balance = gift_balance if gift_balance is not None else rng.randrange(90_000, 200_000) / 100
        user = make_user(rng, self._taken, sources=sources, gift_balance=balance, name=name)
        self.users[user["user_id"]] = user
        return user

    def product(self, n_variants: int = 6) -> JsonObject:
        """A new product with at least two variants in stock."""
        product = make_product(self.rng, fresh_name(self.rng, self._product_names), n_variants, self._taken)
        self.products[product["product_id"]] = product
        return product

    def order(
        self,
        user: JsonObject,
        status: Status,
        lines: Sequence[tuple[JsonObject, str]],
        *,
        method: str | None = None,
        extra: int = 0,
    ) -> JsonObject:
        """An order of these variants, and of some from the base catalogue."""
        catalogue: Mapping[str, Any] = base_tables()["products"]
        items = [(product["product_id"], item_id) for product, item_id in lines]
        chosen = self.rng.sample(sorted(catalogue), extra)
        items.extend((key, self.rng.choice(sorted(catalogue[key]["variants"]))) for key in chosen)
        own = {product["product_id"]: product for product, _ in lines}
        order = make_order(
            self.rng,
            user,
            {**catalogue, **own},
            self._taken,
            status=status,
            items=items,
            payment_method_id=method or self.rng.choice(sorted(user["payment_methods"])),
        )
        self.orders[order["order_id"]] = order
        return order

    def distract(self, user: JsonObject, n: int) -> None:
        """Further orders of things from the base catalogue."""
        for _ in range(n):
            status: Status = self.rng.choice(("pending", "delivered", "delivered", "processed", "cancelled"))
            self.order(user, status, (), extra=self.rng.choice((1, 2)))

    def setup(self) -> tuple[Op, ...]:
        """The operations that add everything to the base state."""
        tables = (("products", self.products), ("users", self.users), ("orders", self.orders))
        return tuple(
            {"op": "add", "path": make_pointer(table, key), "value": row}
            for table, rows in tables
            for key, row in rows.items()
        )


def method_of(user: Mapping[str, Any], source: str) -> str:
    """The id of the user's payment method of this kind."""
    return str(next(key for key, method in user["payment_methods"].items() if method["source"] == source))


def in_stock(product: Mapping[str, Any]) -> list[str]:
    """Item ids of the variants that can be had."""
    return [key for key, variant in product["variants"].items() if variant["available"]]
