"""With ``compat="tau2"`` the tools have the oddities of the public benchmark's code, Python's own errors included."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simia_gym.envs.retail.world import RetailWorld
from simia_gym.state import State
from simia_gym.types import JsonObject, ToolCall, Transition

from ..tau2.tools import Tools
from .shop import ADDRESS, order, shop

PENDING = shop(order("#W1", "pending", ["11", "12"], "gift"))
DELIVERED = shop(order("#W1", "delivered", ["11"], "gift"))
TOOLS = Tools(RetailWorld({"compat": "tau2"}), PENDING)
call, fails = TOOLS.call, TOOLS.fails


def order_after(transition: Transition) -> JsonObject:
    row: JsonObject = json.loads(transition.observation)
    return row


def items(old: Any, new: Any) -> dict[str, Any]:
    return {"order_id": "#W1", "item_ids": old, "new_item_ids": new, "payment_method_id": "gift"}


def swap(state: State, old: list[str], new: list[str], tool: str = "modify_pending_order_items") -> Transition:
    return call(tool, state, **items(old, new))


def test_all_swapped_items_get_the_last_ones_price_and_options() -> None:
    row = order_after(swap(PENDING, ["11", "12"], ["12", "14"]))
    # The second swap finds the line that the first one has just turned into item 12.
    assert [(line["item_id"], line["price"], line["options"]) for line in row["items"]] == [
        ("14", 0.7, {"color": "grey"}),
        ("12", 12.35, {"color": "blue"}),
    ]


def test_price_differences_are_not_rounded() -> None:
    state = shop(order("#W1", "pending", ["21"], "gift"))
    amount = order_after(swap(state, ["21"], ["22"]))["payment_history"][1]["amount"]
    assert amount == 100.0 - 80.2 != 19.8


def test_cancelling_refunds_every_entry_of_the_history() -> None:
    state = shop(order("#W1", "pending", ["11", "12"], "gift", "gift"))
    transition = call("cancel_pending_order", state, order_id="#W1", reason="no longer needed")
    assert len(order_after(transition)["payment_history"]) == 6
    assert transition.state is not None
    assert transition.state.at("/users/alba_cho_1/payment_methods/gift/balance") == 87.35


def test_an_empty_swap_goes_through_and_amounts_are_floats() -> None:
    exchanged = swap(DELIVERED, [], [], "exchange_delivered_order_items")
    assert '"exchange_price_difference": 0,' in exchanged.observation
    assert '"amount": 0.0' in swap(PENDING, [], []).observation


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
    ("get_order_details", {"order_id": None}, "Order not found"),
    ("get_order_details", {"order_id": ["#W1"]}, "unhashable type: 'list'"),
    ("get_item_details", {"item_id": {}}, "unhashable type: 'dict'"),
    ("find_user_id_by_email", {"email": None}, "'NoneType' object has no attribute 'lower'"),
    (
        "find_user_id_by_name_zip",
        {"first_name": "alba", "last_name": 1, "zip": ""},
        "'int' object has no attribute 'lower'",
    ),
    ("find_user_id_by_name_zip", {"first_name": "x", "last_name": 1, "zip": ""}, "User not found"),
    ("find_user_id_by_name_zip", {"first_name": "alba", "last_name": "cho", "zip": 83701}, "User not found"),
    ("cancel_pending_order", {"order_id": "#W1", "reason": []}, "unhashable type: 'list'"),
    ("cancel_pending_order", {"order_id": "#W1", "reason": 1}, "Invalid reason"),
    ("modify_pending_order_items", items(11, ["12"]), "'int' object is not iterable"),
    ("modify_pending_order_items", items("11", ["12"]), "1 not found"),
    ("modify_pending_order_items", items(["11"], None), "object of type 'NoneType' has no len()"),
    ("modify_pending_order_items", items(["11"], [["12"]]), "unhashable type: 'list'"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), ERRORS)
def test_errors(name: str, arguments: dict[str, Any], message: str) -> None:
    fails(name, message, **arguments)


def test_an_address_part_that_is_no_text() -> None:
    message = (
        "1 validation error for UserAddress\n"
        "zip\n"
        "  Input should be a valid string [type=string_type, input_value=83701, input_type=int]\n"
        "    For further information visit https://errors.pydantic.dev/2.12/v/string_type"
    )
    fails("modify_user_address", message, user_id="alba_cho_1", **{**ADDRESS, "zip": 83701})


def test_sound_and_compatible_worlds_agree_on_ordinary_calls() -> None:
    calls: list[tuple[State, str, dict[str, Any]]] = [
        (PENDING, "cancel_pending_order", {"order_id": "#W1", "reason": "ordered by mistake"}),
        (PENDING, "get_user_details", {"user_id": "alba_cho_1"}),
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
        one, other = (world.call(state, ToolCall(name, arguments)) for world in (RetailWorld(), TOOLS.world))
        assert (one.observation, one.ops, one.outcome) == (other.observation, other.ops, "ok")
