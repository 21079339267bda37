"""Random calls of the shop's tools, and what none of them changes."""

from __future__ import annotations

import random
from typing import Any

from simia_gym.domain.domain import Domain
from simia_gym.state import State
from simia_gym.types import JsonObject

MOST = 20_000
"""Bytes of a slice."""
OFTEN = ("items", "payment", "cancel")
"""In the names of tools that are called more often than others."""
CODES = {
    "not_found", "wrong_status", "invalid_reason", "bad_expression", "mismatch", "unavailable", "insufficient_balance",
    "not_original_payment", "same_payment_method", "already_modified", "nothing_to_do",
}  # fmt: skip
"""Errors that such calls meet."""
CODES_OF_BENCHMARK = {"not_found", "wrong_status", "invalid_reason", "tool_error", "mismatch", "not_original_payment"}


def arguments_for(rng: random.Random, domain: Domain, name: str, state: State) -> JsonObject:
    """Arguments that fit the schema, often of things that exist and mostly do not fit together."""
    users, orders = list(state.keys("users")), list(state.keys("orders"))
    products = [row for _, row in state.rows("products")]
    order = state.get("orders", rng.choice(orders))
    assert order is not None
    user = state.get("users", order["user_id"] if rng.random() < 0.7 else rng.choice(users))
    assert user is not None
    own = [item["item_id"] for item in order["items"]]
    wanted = [
        rng.choice([*next(p for p in products if p["product_id"] == item["product_id"])["variants"], "7"])
        for item in order["items"]
    ]
    n = rng.randint(0, len(own))
    pool: dict[str, Any] = {
        "email": rng.choice([user["email"].upper(), "nobody@example.com"]),
        "first_name": user["name"]["first_name"].lower(),
        "last_name": rng.choice([user["name"]["last_name"], "X"]),
        "zip": rng.choice([user["address"]["zip"], "00000"]),
        "user_id": rng.choice([user["user_id"], "nobody"]),
        "order_id": rng.choice([order["order_id"]] * 5 + ["#W/~0"]),
        "product_id": rng.choice([rng.choice(products)["product_id"], "1"]),
        "item_id": rng.choice([*own, *wanted]),
        "item_ids": own[:n],
        "new_item_ids": wanted[: rng.choice([n, n, n, 1])],
        "payment_method_id": rng.choice([*user["payment_methods"], "none"]),
        "reason": rng.choice(["no longer needed", "because"]),
        "expression": rng.choice(["2 * 3", "2 *", "1 / 0"]),
    }
    names = domain.specs[name].parameters["properties"]
    return {each: pool.get(each, "Somewhere") for each in names}


def kept(state: State) -> dict[str, float]:
    """Per gift card: its balance plus what it has paid for orders; no call may change the sum."""
    sums: dict[str, float] = {}
    for _, user in state.rows("users"):
        for method in user["payment_methods"].values():
            if method["source"] == "gift_card":
                sums[method["id"]] = method["balance"]
        for order_id in user["orders"]:
            order = state.get("orders", order_id)
            assert order is not None
            for line in order["payment_history"]:
                if line["payment_method_id"] in sums:
                    sign = 1 if line["transaction_type"] == "payment" else -1
                    sums[line["payment_method_id"]] += sign * line["amount"]
    return {key: round(value, 2) for key, value in sums.items()}
