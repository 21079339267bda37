"""What always holds in the shop's database, whoever changes it.

Each check takes the state and the rows that were touched, and yields what is wrong in one sentence each. They describe
sound behaviour; the oddities of ``compat="tau2"`` break some of them on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

from simia_gym.envs._tau2.invariants import Touched, touched_rows, unlisted
from simia_gym.envs.retail.orders import OPTIONAL_FIELDS, is_gift_card, price_of, total
from simia_gym.state import State

_REQUESTS = {"exchange requested": "exchange_", "return requested": "return_", "cancelled": "cancel_"}
"""Status to the prefix of the fields that are then filled."""


def money_adds_up(state: State, touched: Touched) -> Iterator[str]:
    """What an order has cost, after refunds, equals the price of its items; a cancelled one has cost nothing."""
    for key, order in touched_rows(state, touched, "orders"):
        lines = [(line["transaction_type"] == "payment", line["amount"]) for line in order["payment_history"]]
        paid = total([amount if payment else -amount for payment, amount in lines])
        due = 0.0 if order["status"] == "cancelled" else price_of(order)
        if abs(paid - due) >= 0.005:
            yield f"order {key} has cost {paid:.2f} after refunds, its items are worth {due:.2f}"


def balances_not_negative(state: State, touched: Touched) -> Iterator[str]:
    """No gift card is overdrawn, and no balance has fractions of a cent."""
    for key, user in touched_rows(state, touched, "users"):
        for method_id, method in user["payment_methods"].items():
            if is_gift_card(method) and (method["balance"] < 0 or method["balance"] != round(method["balance"], 2)):
                yield f"gift card {method_id} of {key} holds {method['balance']!r}"


def items_are_variants(state: State, touched: Touched) -> Iterator[str]:
    """Every item of an order is a variant of its product, with that variant's options."""
    for key, order in touched_rows(state, touched, "orders"):
        for item in order["items"]:
            product = state.get("products", item["product_id"])
            variant = None if product is None else product["variants"].get(item["item_id"])
            if variant is None:
                yield f"order {key}: item {item['item_id']} is no variant of product {item['product_id']}"
            elif dict(variant["options"]) != dict(item["options"]):
                yield f"order {key}: item {item['item_id']} has the options of another variant"


def payment_methods_are_owned(state: State, touched: Touched) -> Iterator[str]:
    """Every payment method that an order names belongs to the order's user."""
    for key, order in touched_rows(state, touched, "orders"):
        user = state.get("users", order["user_id"])
        owned = {} if user is None else user["payment_methods"]
        named = [line["payment_method_id"] for line in order["payment_history"]]
        named += [order["exchange_payment_method_id"], order["return_payment_method_id"]]
        for method_id in dict.fromkeys(named):
            if method_id is not None and method_id not in owned:
                yield f"order {key} names payment method {method_id}, which {order['user_id']} does not have"


def status_fits_fields(state: State, touched: Touched) -> Iterator[str]:
    """The fields of a cancellation, a return or an exchange are filled exactly where the status says so.

    Only the reason of a cancellation may be empty: orders from before the records began have none.
    """
    for key, order in touched_rows(state, touched, "orders"):
        for status, prefix in _REQUESTS.items():
            for field in (name for name in OPTIONAL_FIELDS if name.startswith(prefix)):
                filled, wanted = order[field] is not None, order["status"] == status
                if filled and not wanted:
                    yield f"order {key} is {order['status']!r}, but {field} is filled"
                elif wanted and not filled and field != "cancel_reason":
                    yield f"order {key} is {status!r}, but {field} is empty"


def orders_are_listed(state: State, touched: Touched) -> Iterator[str]:
    """Every order stands in its user's list, and every order in a user's list is that user's."""
    return unlisted(state, touched, "orders")
