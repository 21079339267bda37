"""What has been ordered, with parcels and payments; where the money of an order comes from and goes to.

The sound rules keep two sums: what an order has cost its buyer equals the price of its items (nothing once it is
cancelled), and a gift card loses exactly what was paid with it. Amounts are dollars, rounded to cents.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from simia_gym.envs._tau2.people import fresh_id
from simia_gym.state import Draft
from simia_gym.types import JsonObject, Row


class UserAddress(BaseModel):
    """The parts are texts. Its name and order show in the words of a validation error."""

    address1: str
    address2: str
    city: str
    country: str
    state: str
    zip: str


Status = Literal["pending", "processed", "delivered", "cancelled"]

MODIFIED = "pending (item modified)"
"""The status of a pending order whose items have been changed."""
REASONS: tuple[str, ...] = ("no longer needed", "ordered by mistake")
"""The reasons for which an order may be cancelled."""

OPTIONAL_FIELDS: tuple[str, ...] = (
    "cancel_reason",
    "exchange_items",
    "exchange_new_items",
    "exchange_payment_method_id",
    "exchange_price_difference",
    "return_items",
    "return_payment_method_id",
)
"""Fields of an order that stay null until an action fills them, in the order in which they are shown."""


def total(amounts: Sequence[float]) -> float:
    """Add dollars that have at most two decimals, without the noise of binary fractions."""
    return sum(round(amount * 100) for amount in amounts) / 100


def price_of(order: Row) -> float:
    """The price of an order's items, in dollars."""
    return total([line["price"] for line in order["items"]])


def line_item(product: Row, item_id: str) -> JsonObject:
    """One line of an order: this variant of a product, at its present price."""
    variant = product["variants"][item_id]
    return {
        "name": product["name"],
        "product_id": product["product_id"],
        "item_id": item_id,
        "price": variant["price"],
        "options": dict(variant["options"]),
    }


def make_order(
    rng: random.Random,
    user: dict[str, Any],
    products: Mapping[str, Row],
    taken: set[str],
    *,
    status: Status = "pending",
    items: Sequence[tuple[str, str]] | None = None,
    payment_method_id: str | None = None,
    address: Row | None = None,
) -> JsonObject:
    """Draw a row of ``orders`` and enter it in its user's list of orders.

    Args:
        rng: Source of chance.
        user: A row of ``users``; its ``orders`` grows.
        products: Rows of ``products`` by id.
        taken: Identifiers in use; the new ones are added.
        status: An order that has left the warehouse has a parcel; a cancelled one a refund and a reason.
        items: Lines as (product id, item id); a pair may occur twice. If not given, one to four different products,
            each in any variant, as even one that is out of stock by now may have been bought.
        payment_method_id: One of the user's; drawn if not given.
        address: Where it goes; the user's own address if not given.
    """
    identifier = fresh_id(rng, taken, prefix="#W", digits=7)
    if items is None:
        chosen = rng.sample(sorted(products), rng.choice((1, 2, 2, 3, 3, 4)))
        items = [(key, rng.choice(sorted(products[key]["variants"]))) for key in chosen]
    lines = [line_item(products[product_id], item_id) for product_id, item_id in items]
    method = payment_method_id or rng.choice(sorted(user["payment_methods"]))
    amount = price_of({"items": lines})
    history = [entry("payment", amount, method)]
    parcels: list[JsonObject] = []
    reason = None
    if status in ("processed", "delivered"):
        parcels.append(make_parcel(rng, taken, lines))
    elif status == "cancelled":
        history.append(entry("refund", amount, method))
        reason = rng.choice(REASONS)
    user["orders"].append(identifier)
    return {
        "order_id": identifier,
        "user_id": user["user_id"],
        "address": dict(address if address is not None else user["address"]),
        "items": lines,
        "status": status,
        "fulfillments": parcels,
        "payment_history": history,
        **dict.fromkeys(OPTIONAL_FIELDS),
        "cancel_reason": reason,
    }


def make_parcel(rng: random.Random, taken: set[str], lines: Sequence[Row]) -> JsonObject:
    """Draw a parcel with these lines of an order, an entry of its ``fulfillments``."""
    return {"tracking_id": [fresh_id(rng, taken, digits=12)], "item_ids": [line["item_id"] for line in lines]}


def is_gift_card(method: Row) -> bool:
    """Whether this is a gift card. The shop itself keeps its balance, so money moves at once."""
    return bool(method["source"] == "gift_card")


def entry(kind: str, amount: float, payment_method_id: str) -> JsonObject:
    """One line of an order's payment history: a ``payment`` or ``refund``, in dollars, not negative."""
    return {"transaction_type": kind, "amount": float(amount), "payment_method_id": payment_method_id}


def net_paid(order: Row) -> dict[str, float]:
    """The dollars that each payment method has paid for an order after refunds, by its id, in order of first use.

    Methods that have got everything back are left out.
    """
    net: dict[str, float] = {}
    for line in order["payment_history"]:
        sign = 1 if line["transaction_type"] == "payment" else -1
        method = line["payment_method_id"]
        net[method] = round(net.get(method, 0.0) + sign * line["amount"], 2)
    return {method: amount for method, amount in net.items() if amount > 0}


def credit(db: Draft, user_id: str, method: Mapping[str, Any], amount: float) -> None:
    """Add dollars to a gift card (a negative amount takes them off); money of other methods moves outside the shop."""
    if not is_gift_card(method):
        return
    card = db.edit("users", user_id)["payment_methods"][method["id"]]
    card["balance"] = round(card["balance"] + amount, 2)
