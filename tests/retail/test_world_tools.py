"""What each tool of the shop does, by default."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simia_gym.envs.retail.world import RetailWorld
from simia_gym.types import JsonObject, Transition

from ..tau2.tools import Tools, after
from .shop import ADDRESS, order, shop

STATE = shop(
    order("#W1", "pending", ["11", "21"], "card"),
    order("#W2", "delivered", ["11", "11", "21"], "card"),
    order("#W3", "processed", ["11"], "card"),
    order("#W4", "pending", ["11"], "gift"),
    order("#W5", "pending (item modified)", ["11"], "card"),
)
TOOLS = Tools(RetailWorld(), STATE)
call, fails = TOOLS.call, TOOLS.fails


def order_of(transition: Transition, key: str) -> JsonObject:
    """The order after a call, which is also what the call showed."""
    row = after(transition).get("orders", key)
    assert row is not None
    shown: JsonObject = json.loads(transition.observation)
    assert shown == row
    return shown


def balance(transition: Transition) -> float:
    user = after(transition).get("users", "alba_cho_1")
    assert user is not None
    return float(user["payment_methods"]["gift"]["balance"])


def test_find_a_customer() -> None:
    for email in ("alba.cho@example.com", "ALBA.CHO@EXAMPLE.COM"):
        assert call("find_user_id_by_email", email=email).observation == "alba_cho_1"
    fails("find_user_id_by_email", "User not found", email="x@example.com")
    found = call("find_user_id_by_name_zip", first_name="ALBA", last_name="cho", zip="83702")
    assert found.observation == "alba_cho_2"
    fails("find_user_id_by_name_zip", "User not found", first_name="Alba", last_name="Cho", zip="1")


def test_finding_notices_what_changed() -> None:
    moved = after(call("modify_user_address", user_id="alba_cho_1", **{**ADDRESS, "zip": "05401"}))
    found = call("find_user_id_by_name_zip", moved, first_name="Alba", last_name="Cho", zip="05401")
    assert found.observation == "alba_cho_1"
    fails("find_user_id_by_name_zip", "User not found", moved, first_name="Alba", last_name="Cho", zip="83701")


def test_details() -> None:
    for table, name, key in (("users", "user", "alba_cho_1"), ("orders", "order", "#W1"), ("products", "product", "1")):
        shown = call(f"get_{name}_details", **{f"{name}_id": key})
        assert shown.observation == json.dumps(STATE.get(table, key))
        assert shown.ops == ()
        fails(f"get_{name}_details", f"{name.capitalize()} not found", **{f"{name}_id": "nothing"})


def test_items_and_list_follow_the_state() -> None:
    shown = json.loads(call("get_item_details", item_id="13").observation)
    assert shown == {"item_id": "13", "options": {"color": "teal"}, "available": False, "price": 9.99}
    assert call("list_all_product_types").observation == '{"P1": "1", "P2": "2"}'
    variant = {"item_id": "31", "options": {}, "available": True, "price": 1.0}
    row = {"name": "A", "product_id": "3", "variants": {"31": variant}}
    larger = STATE.apply([{"op": "add", "path": "/products/3", "value": row}])
    assert call("list_all_product_types", larger).observation == '{"A": "3", "P1": "1", "P2": "2"}'
    assert json.loads(call("get_item_details", larger, item_id="31").observation) == variant
    assert call("list_all_product_types").observation == '{"P1": "1", "P2": "2"}'
    smaller = STATE.apply([{"op": "remove", "path": "/products/1"}])
    for state, item in ((STATE, "1"), (smaller, "11")):
        fails("get_item_details", "Item not found", state, item_id=item)


def test_transfer_ends_the_episode() -> None:
    transition = call("transfer_to_human_agents", summary="wants a human")
    assert (transition.observation, transition.end) == ("Transfer successful", "terminal_tool")


def test_cancel_refunds_to_where_the_money_came_from() -> None:
    row = order_of(call("cancel_pending_order", order_id="#W1", reason="no longer needed"), "#W1")
    assert (row["status"], row["cancel_reason"]) == ("cancelled", "no longer needed")
    refund = {"transaction_type": "refund", "amount": 110.1, "payment_method_id": "card"}
    assert row["payment_history"][1:] == [refund]
    assert balance(call("cancel_pending_order", order_id="#W4", reason="ordered by mistake")) == 30.1


def test_cancel_errors() -> None:
    fails("cancel_pending_order", "Order not found", order_id="W1", reason="no longer needed")
    fails("cancel_pending_order", "Invalid reason", order_id="#W1", reason="too expensive")
    for key in ("#W2", "#W3", "#W5"):
        message = "Non-pending order cannot be cancelled"
        fails("cancel_pending_order", message, order_id=key, reason="no longer needed")


def test_cancel_after_another_payment_refunds_once() -> None:
    paid = after(call("modify_pending_order_payment", order_id="#W4", payment_method_id="card"))
    row = order_of(call("cancel_pending_order", paid, order_id="#W4", reason="no longer needed"), "#W4")
    assert row["payment_history"][3:] == [{"transaction_type": "refund", "amount": 10.1, "payment_method_id": "card"}]


@pytest.mark.parametrize("key", ["#W1", "#W5"])
def test_shipping_address(key: str) -> None:
    new = {**ADDRESS, "address1": "2 Ferry Landing"}
    transition = call("modify_pending_order_address", order_id=key, **new)
    assert order_of(transition, key)["address"] == new
    assert transition.ops == ({"op": "replace", "path": f"/orders/{key}/address/address1", "value": "2 Ferry Landing"},)
    fails("modify_pending_order_address", "Non-pending order cannot be modified", order_id="#W2", **new)


def test_user_address() -> None:
    shown = json.loads(call("modify_user_address", user_id="alba_cho_1", **{**ADDRESS, "city": "Ames"}).observation)
    assert list(shown["address"]) == ["address1", "address2", "city", "country", "state", "zip"]
    assert shown["address"]["city"] == "Ames"
    fails("modify_user_address", "User not found", user_id="x", **ADDRESS)


def test_payment() -> None:
    to_gift = call("modify_pending_order_payment", order_id="#W4", payment_method_id="pal")
    history = order_of(to_gift, "#W4")["payment_history"]
    assert [(line["transaction_type"], line["payment_method_id"]) for line in history] == [
        ("payment", "gift"),
        ("payment", "pal"),
        ("refund", "gift"),
    ]
    assert balance(to_gift) == 30.1


def test_payment_errors() -> None:
    name = "modify_pending_order_payment"
    fails(name, "Non-pending order cannot be modified", order_id="#W3", payment_method_id="pal")
    fails(name, "Payment method not found", order_id="#W1", payment_method_id="gold")
    same = "The new payment method should be different from the current one"
    fails(name, same, order_id="#W1", payment_method_id="card")
    poor = "Insufficient gift card balance to pay for the order"
    fails(name, poor, order_id="#W1", payment_method_id="gift")
    once = after(call(name, order_id="#W1", payment_method_id="pal"))
    again = "There should be exactly one payment for a pending order"
    fails(name, again, once, order_id="#W1", payment_method_id="card")


def test_swapping_items_gives_each_its_own_variant() -> None:
    arguments = {"order_id": "#W1", "item_ids": ["11", "21"], "new_item_ids": ["12", "22"]}
    transition = call("modify_pending_order_items", **arguments, payment_method_id="gift")
    row = order_of(transition, "#W1")
    assert [(item["item_id"], item["price"], item["options"]["color"]) for item in row["items"]] == [
        ("12", 12.35, "blue"),
        ("22", 80.2, "blue"),
    ]
    assert row["payment_history"][1:] == [{"transaction_type": "refund", "amount": 17.55, "payment_method_id": "gift"}]
    assert row["status"] == "pending (item modified)"
    assert balance(transition) == 37.55


def test_swapping_items_errors() -> None:
    name = "modify_pending_order_items"

    def check(message: str, old: list[str], new: list[str], key: str = "#W1", pay: str = "card") -> None:
        fails(name, message, order_id=key, item_ids=old, new_item_ids=new, payment_method_id=pay)

    check("Order not found", ["11"], ["12"], key="#W0")
    check("Non-pending order cannot be modified", ["11"], ["12"], key="#W5")
    check("99 not found", ["99"], ["12"])
    check("11 not found", ["11", "11"], ["12", "12"])
    check("The number of items to be exchanged should match", ["11"], [])
    check("There is no item to be exchanged", [], [])
    check("The new item id should be different from the old item id", ["11"], ["11"])
    check("Variant not found", ["11"], ["22"])
    check("New item 13 not found or available", ["11"], ["13"])
    check("Payment method not found", ["11"], ["12"], pay="gold")
    poor = STATE.apply([{"op": "replace", "path": "/users/alba_cho_1/payment_methods/gift/balance", "value": 2.24}])
    arguments = {"order_id": "#W1", "item_ids": ["11"], "new_item_ids": ["12"], "payment_method_id": "gift"}
    fails(name, "Insufficient gift card balance to pay for the new item", poor, **arguments)


def test_return() -> None:
    name = "return_delivered_order_items"
    row = order_of(call(name, order_id="#W2", item_ids=["21", "11"], payment_method_id="gift"), "#W2")
    assert (row["status"], row["return_items"]) == ("return requested", ["11", "21"])
    assert row["return_payment_method_id"] == "gift"
    fails(name, "Non-delivered order cannot be returned", order_id="#W1", item_ids=["11"], payment_method_id="card")
    fails(name, "Payment method not found", order_id="#W2", item_ids=["11"], payment_method_id="gold")
    other = "Payment method should be the original payment method"
    fails(name, other, order_id="#W2", item_ids=["11"], payment_method_id="pal")
    for items in (["12"], ["11", "11", "11"], []):
        fails(name, "Some item not found", order_id="#W2", item_ids=items, payment_method_id="card")


def test_exchange() -> None:
    name = "exchange_delivered_order_items"

    def exchange(old: list[str], new: list[str], pay: str = "pal", key: str = "#W2") -> dict[str, Any]:
        return {"order_id": key, "item_ids": old, "new_item_ids": new, "payment_method_id": pay}

    row = order_of(call(name, **exchange(["21", "11", "11"], ["22", "12", "12"])), "#W2")
    assert row["status"] == "exchange requested"
    assert (row["exchange_items"], row["exchange_new_items"]) == (["11", "11", "21"], ["12", "12", "22"])
    assert (row["exchange_payment_method_id"], row["exchange_price_difference"]) == ("pal", -15.3)
    assert [item["item_id"] for item in row["items"]] == ["11", "11", "21"]
    fails(name, "Non-delivered order cannot be exchanged", **exchange(["11"], ["12"], key="#W1"))
    fails(name, "Number of 12 not found.", **exchange(["12"], ["11"]))
    fails(name, "The number of items to be exchanged should match.", **exchange(["11"], ["12", "12"]))
    fails(name, "There is no item to be exchanged", **exchange([], []))
    fails(name, "New item 13 not found or available", **exchange(["11"], ["13"]))
    dearer = STATE.apply([{"op": "replace", "path": "/products/1/variants/12/price", "value": 99.0}])
    poor = "Insufficient gift card balance to pay for the price difference"
    fails(name, poor, dearer, **exchange(["11"], ["12"], pay="gift"))


def test_an_option_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="compat is 'tau3'"):
        RetailWorld({"compat": "tau3"})
