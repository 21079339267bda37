"""Over any run of calls: no money is made or lost, every invariant holds, and an error changes nothing."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from simia_gym.envs.retail.build import STATE_FILE, load_tables
from simia_gym.envs.retail.world import RetailWorld
from simia_gym.state import State
from simia_gym.state.schema import read_state_schema
from simia_gym.types import ToolCall

BASE = State.from_tables(load_tables())
WORLD = RetailWorld()
SCHEMA = read_state_schema(STATE_FILE.with_name("state.schema.json"))
ORDERS = [key for key, _ in BASE.rows("orders")]
PRODUCTS = dict(BASE.rows("products"))


def draw_call(rng: random.Random, state: State, orders: list[str]) -> ToolCall:
    """A call that is often possible and sometimes is not."""
    order = state.get("orders", rng.choice(orders))
    assert order is not None
    user = state.get("users", order["user_id"])
    assert user is not None
    method = rng.choice([*user["payment_methods"], "gift_card_0"])
    lines = rng.sample(list(order["items"]), rng.randint(0, len(order["items"])))
    new = [rng.choice(list(PRODUCTS[line["product_id"]]["variants"])) for line in lines]
    old = [line["item_id"] for line in lines]
    if rng.random() < 0.1:
        old = [*old, *old[:1]]
    arguments: dict[str, dict[str, Any]] = {
        "cancel_pending_order": {"reason": rng.choice(["no longer needed", "other"])},
        "modify_pending_order_payment": {"payment_method_id": method},
        "modify_pending_order_items": {"item_ids": old, "new_item_ids": new, "payment_method_id": method},
        "exchange_delivered_order_items": {"item_ids": old, "new_item_ids": new, "payment_method_id": method},
        "return_delivered_order_items": {"item_ids": old, "payment_method_id": method},
    }
    name = rng.choice(sorted(arguments))
    return ToolCall(name, {"order_id": order["order_id"], **arguments[name]})


def wealth(state: State, users: set[str]) -> dict[str, float]:
    """Per gift card: its balance plus what it has paid for orders; no call may change the sum."""
    sums: dict[str, float] = {}
    for user_id in users:
        user = state.get("users", user_id)
        assert user is not None
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


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_money(seed: int) -> None:
    rng = random.Random(seed)
    orders = rng.sample(ORDERS, 4)
    users = {str(BASE.at(f"/orders/{key}/user_id")) for key in orders}
    before = wealth(BASE, users)
    state = BASE
    for _ in range(25):
        transition = WORLD.call(state, draw_call(rng, state, orders))
        if transition.outcome == "error":
            assert transition.ops == ()
            assert transition.state is None
            continue
        assert transition.state is not None
        assert BASE.apply(()) is BASE
        assert state.apply(transition.ops or ()).touched_since(transition.state) == []
        state = transition.state
        assert list(SCHEMA.problems(state, state.touched_since(BASE))) == []
    assert wealth(state, users) == before
