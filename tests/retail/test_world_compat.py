"""With ``compat="tau2"`` the tools have the oddities of the public benchmark's code, Python's own errors included."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simia_gym.envs.retail.world import RetailWorld
from simia_gym.state import State
from simia_gym.types import JsonObject, ToolCall, Transition

WORLD = RetailWorld({"compat": "tau2"})
ADDRESS = {"address1": "1 Kiln Lane", "address2": "", "city": "Boise", "country": "USA", "state": "ID", "zip": "83701"}


def _line(item: str, price: float) -> JsonObject:
    return {"name": "Mug", "product_id": "1", "item_id": item, "price": price, "options": {"color": item}}


def make_state(status: str, items: list[tuple[str, float]], paid: list[tuple[str, float, str]]) -> State:
    prices = {"11": 10.1, "12": 12.3, "13": 0.7}
    variants = {
        key: {"item_id": key, "options": {"color": key}, "available": True, "price": price}
        for key, price in prices.items()
    }
    order: JsonObject = {
        "order_id": "#W1",
        "user_id": "u",
        "address": ADDRESS,
        "items": [_line(*item) for item in items],
        "status": status,
        "fulfillments": [],
        "payment_history": [
            {"transaction_type": kind, "amount": amount, "payment_method_id": method} for kind, amount, method in paid
        ],
        "cancel_reason": None,
        "exchange_items": None,
        "exchange_new_items": None,
        "exchange_payment_method_id": None,
        "exchange_price_difference": None,
        "return_items": None,
        "return_payment_method_id": None,
    }
    user = {
        "user_id": "u",
        "name": {"first_name": "Uma", "last_name": "Yu"},
        "address": ADDRESS,
        "email": "u@example.com",
        "payment_methods": {"gift": {"source": "gift_card", "id": "gift", "balance": 50.0}},
        "orders": ["#W1"],
    }
    product = {"name": "Mug", "product_id": "1", "variants": variants}
    return State.from_tables({"products": {"1": product}, "users": {"u": user}, "orders": {"#W1": order}})


PENDING = make_state("pending", [("11", 10.1), ("12", 12.3)], [("payment", 22.4, "gift")])
DELIVERED = make_state("delivered", [("11", 10.1)], [("payment", 10.1, "gift")])


def call(state: State, name: str, /, **arguments: Any) -> Transition:
    return WORLD.call(state, ToolCall(name, arguments))


def order_after(transition: Transition) -> JsonObject:
    order: JsonObject = json.loads(transition.observation)
    return order


def test_all_swapped_items_get_the_last_ones_price_and_options() -> None:
    swap = {"item_ids": ["11", "12"], "new_item_ids": ["12", "13"], "payment_method_id": "gift"}
    order = order_after(call(PENDING, "modify_pending_order_items", order_id="#W1", **swap))
    # The second swap finds the line that the first one has just turned into item 12.
    assert [(line["item_id"], line["price"], line["options"]) for line in order["items"]] == [
        ("13", 0.7, {"color": "13"}),
        ("12", 12.3, {"color": "12"}),
    ]


def test_price_differences_are_not_rounded() -> None:
    state = make_state("pending", [("11", 10.2)], [("payment", 10.2, "gift")])
    swap = {"item_ids": ["11"], "new_item_ids": ["12"], "payment_method_id": "gift"}
    order = order_after(call(state, "modify_pending_order_items", order_id="#W1", **swap))
    assert order["payment_history"][1]["amount"] == 12.3 - 10.2 != 2.1


def test_cancelling_refunds_every_entry_of_the_history() -> None:
    paid = [("payment", 22.4, "gift"), ("payment", 22.4, "gift"), ("refund", 22.4, "gift")]
    state = make_state("pending", [("11", 10.1), ("12", 12.3)], paid)
    transition = call(state, "cancel_pending_order", order_id="#W1", reason="no longer needed")
    assert len(order_after(transition)["payment_history"]) == 6
    assert transition.state is not None
    assert transition.state.at("/users/u/payment_methods/gift/balance") == 117.2


def test_an_empty_exchange_goes_through() -> None:
    nothing = {"item_ids": [], "new_item_ids": [], "payment_method_id": "gift"}
    transition = call(DELIVERED, "exchange_delivered_order_items", order_id="#W1", **nothing)
    assert '"exchange_price_difference": 0,' in transition.observation


def test_the_benchmark_shows_amounts_as_floats() -> None:
    nothing = {"item_ids": [], "new_item_ids": [], "payment_method_id": "gift"}
    transition = call(PENDING, "modify_pending_order_items", order_id="#W1", **nothing)
    assert order_after(transition)["payment_history"][1] == {
        "transaction_type": "refund",
        "amount": 0.0,
        "payment_method_id": "gift",
    }
    assert '"amount": 0.0' in transition.observation


ERRORS: list[tuple[str, dict[str, Any], str]] = [
    ("think", {}, "Tool 'think' not found."),
    (
        "get_order_details",
        {"order": "#W1"},
        "RetailTools.get_order_details() got an unexpected keyword argument 'order'",
    ),
    ("get_order_details", {}, "RetailTools.get_order_details() missing 1 required positional argument: 'order_id'"),
    (
        "cancel_pending_order",
        {},
        "RetailTools.cancel_pending_order() missing 2 required positional arguments: 'order_id' and 'reason'",
    ),
    (
        "return_delivered_order_items",
        {},
        "RetailTools.return_delivered_order_items() missing 3 required positional arguments: "
        "'order_id', 'item_ids', and 'payment_method_id'",
    ),
    ("get_order_details", {"self": 1}, "Environment.make_tool_call() got multiple values for argument 'self'"),
    (
        "get_order_details",
        {"requestor": 1},
        "tau2.environment.environment.Environment.make_tool_call() got multiple values "
        "for keyword argument 'requestor'",
    ),
    ("get_order_details", {"order_id": 1}, "Order not found"),
    ("get_order_details", {"order_id": None}, "Order not found"),
    ("get_order_details", {"order_id": ["#W1"]}, "unhashable type: 'list'"),
    ("get_item_details", {"item_id": {}}, "unhashable type: 'dict'"),
    ("find_user_id_by_email", {"email": None}, "'NoneType' object has no attribute 'lower'"),
    (
        "find_user_id_by_name_zip",
        {"first_name": "uma", "last_name": 1, "zip": ""},
        "'int' object has no attribute 'lower'",
    ),
    ("find_user_id_by_name_zip", {"first_name": "x", "last_name": 1, "zip": ""}, "User not found"),
    ("find_user_id_by_name_zip", {"first_name": "uma", "last_name": "yu", "zip": 83701}, "User not found"),
    ("cancel_pending_order", {"order_id": "#W1", "reason": []}, "unhashable type: 'list'"),
    ("cancel_pending_order", {"order_id": "#W1", "reason": 1}, "Invalid reason"),
    (
        "modify_pending_order_items",
        {"order_id": "#W1", "item_ids": 11, "new_item_ids": ["12"], "payment_method_id": "gift"},
        "'int' object is not iterable",
    ),
    (
        "modify_pending_order_items",
        {"order_id": "#W1", "item_ids": "11", "new_item_ids": ["12"], "payment_method_id": "gift"},
        "1 not found",
    ),
    (
        "modify_pending_order_items",
        {"order_id": "#W1", "item_ids": ["11"], "new_item_ids": None, "payment_method_id": "gift"},
        "object of type 'NoneType' has no len()",
    ),
    (
        "modify_pending_order_items",
        {"order_id": "#W1", "item_ids": ["11"], "new_item_ids": [["12"]], "payment_method_id": "gift"},
        "unhashable type: 'list'",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "message"), ERRORS)
def test_errors(name: str, arguments: dict[str, Any], message: str) -> None:
    transition = WORLD.call(PENDING, ToolCall(name, arguments))
    assert transition.observation == f"Error: {message}"
    assert (transition.ops, transition.state) == ((), None)


def test_an_address_part_that_is_no_text() -> None:
    transition = call(PENDING, "modify_user_address", user_id="u", **{**ADDRESS, "zip": 83701})
    assert transition.observation == (
        "Error: 1 validation error for UserAddress\n"
        "zip\n"
        "  Input should be a valid string [type=string_type, input_value=83701, input_type=int]\n"
        "    For further information visit https://errors.pydantic.dev/2.12/v/string_type"
    )


def test_sound_and_compatible_worlds_agree_on_ordinary_calls() -> None:
    sound = RetailWorld()
    calls: list[tuple[State, str, dict[str, Any]]] = [
        (PENDING, "cancel_pending_order", {"order_id": "#W1", "reason": "ordered by mistake"}),
        (PENDING, "get_user_details", {"user_id": "u"}),
        (PENDING, "modify_pending_order_address", {"order_id": "#W1", **ADDRESS, "city": "Ames"}),
        (
            DELIVERED,
            "return_delivered_order_items",
            {"order_id": "#W1", "item_ids": ["11"], "payment_method_id": "gift"},
        ),
        (PENDING, "list_all_product_types", {}),
        (PENDING, "calculate", {"expression": "1 + 1"}),
    ]
    for state, name, arguments in calls:
        one, other = (world.call(state, ToolCall(name, arguments)) for world in (sound, WORLD))
        assert (one.observation, one.ops, one.outcome) == (other.observation, other.ops, "ok")
