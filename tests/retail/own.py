"""What the shared tests of the benchmark's worlds need of the shop: sizes, mistakes, random calls, gold calls."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from simia_gym.domain.domain import Domain
from simia_gym.state import State
from simia_gym.types import JsonObject, Row, ToolCall

ROWS = {"products": 20, "users": 40, "orders": 100}
ROWS_OF_BENCHMARK = {"products": 50, "users": 500, "orders": 1000}
RECORDED = {"pairs": 438, "episodes": 57}
TASKS = 74
"""Tasks of the benchmark to train on."""
GRANTED = {"cancel": 18, "exchange": 24, "modify_address": 16, "modify_items": 22, "return": 32, "user_address": 7}
"""How often the rules grant each wish in these."""
DEVIATIONS = {
    # The gift card does not hold the price difference, and the benchmark's own tool declines the call, too.
    ("105", "exchange_delivered_order_items"): "covers_difference",
}
"""Gold actions that the rules refuse, by task and tool, with the rule."""
SOUND = ("orders", "pending")
"""A table, and the status of a row that the mistakes are made in."""
BROKEN: Mapping[str, Callable[[Any, Any], object]] = {
    "money_adds_up": lambda order, user: order["payment_history"].append(
        {"transaction_type": "refund", "amount": 1.0, "payment_method_id": "x"}
    ),
    "balances_not_negative": lambda order, user: user["payment_methods"].update(
        g={"source": "gift_card", "id": "g", "balance": -0.01}
    ),
    "items_are_variants": lambda order, user: order["items"][0].update(options={"color": "sky"}),
    "payment_methods_are_owned": lambda order, user: order["payment_history"][0].update(payment_method_id="paypal_1"),
    "status_fits_fields": lambda order, user: order.update(return_items=["1"]),
    "orders_are_listed": lambda order, user: user["orders"].clear(),
}
"""A mistake for each invariant, in such a row or its customer's."""
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


WISHES = {
    "cancel_pending_order": "cancel",
    "exchange_delivered_order_items": "exchange",
    "modify_pending_order_address": "modify_address",
    "modify_pending_order_items": "modify_items",
    "modify_pending_order_payment": "modify_payment",
    "modify_user_address": "user_address",
    "return_delivered_order_items": "return",
}
SLOTS = {
    "order_id": "order",
    "reason": "reason",
    "item_ids": "items",
    "new_item_ids": "variant",
    "payment_method_id": "payment",
}


def wish(call: ToolCall, state: State, row: Row | None, task: str) -> tuple[str, JsonObject]:
    """The wish that a gold call grants, and what its customer wants; no wish for one that the service does not have."""
    slots = {slot: call.arguments[name] for name, slot in SLOTS.items() if name in call.arguments}
    parts = ("address1", "address2", "city", "state", "country", "zip")
    return WISHES.get(call.name, ""), {**slots, "address": {name: call.arguments.get(name) for name in parts}}
