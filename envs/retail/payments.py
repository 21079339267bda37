"""Where the money of an order comes from and goes to.

The sound rules keep two sums: what an order has cost its buyer equals the price of its items (nothing once it is
cancelled), and a gift card loses exactly what was paid with it. Amounts are dollars, rounded to cents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simia_gym.state import Draft
from simia_gym.types import JsonObject, Row


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
