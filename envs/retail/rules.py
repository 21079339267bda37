"""What policy says about a customer's wish: each rule objects, or does not, by what the tools show.

The rows that the tools show are read here too. Nothing here fails where a row is missing: a policy that skips rules
works out calls for strangers, too.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from simia_gym.envs._tau2.customers import call, card_text, profile_read
from simia_gym.envs.retail.orders import MODIFIED, REASONS, is_gift_card, price_of, total
from simia_gym.service import Case, No
from simia_gym.types import JsonObject, Row

CHEAPEST = "cheapest"
"""The value of a wished variant that says no more than this."""

_NO_ORDER: JsonObject = {"order_id": "", "status": "", "items": [], "payment_history": [], "address": {}}
_NO_PROFILE: JsonObject = {"user_id": "", "orders": [], "payment_methods": {}, "address": {}}


def profile(case: Case) -> Row:
    """The customer's profile."""
    row: Row = case.read("get_user_details", user_id=case.who) or _NO_PROFILE
    return row


def order(case: Case) -> Row:
    """The order that the wish is about."""
    row: Row = case.read("get_order_details", order_id=case.slot("order")) or _NO_ORDER
    return row


def product(case: Case, product_id: str) -> Row:
    """A product with its variants."""
    row: Row = case.read("get_product_details", product_id=product_id) or {"name": "", "variants": {}}
    return row


def original(case: Case) -> str:
    """What the order was first paid with."""
    history = order(case)["payment_history"]
    return str(history[0]["payment_method_id"]) if history else ""


def items(case: Case) -> list[Row]:
    """The lines of the order that the wish is about, in the order in which the customer names them."""
    lines = list(order(case)["items"])
    found = []
    for item_id in case.slot("items"):
        line = next((line for line in lines if line["item_id"] == item_id), None)
        if line is not None:
            lines.remove(line)
            found.append(line)
    return found


def swaps(case: Case) -> list[tuple[Row, Any, Row | None]]:
    """Each line to be swapped, what the customer wants instead, and that variant if the product has it."""
    found = []
    for line, wanted in zip(items(case), case.slot("variant"), strict=False):
        variants = product(case, line["product_id"])["variants"]
        if wanted == CHEAPEST:
            stock = [one for one in variants.values() if one["available"] and one["item_id"] != line["item_id"]]
            found.append((line, wanted, min(stock, key=lambda one: float(one["price"]), default=None)))
        else:
            found.append((line, wanted, variants.get(wanted) if isinstance(wanted, str) else None))
    return found


def difference(case: Case) -> float:
    """What the new variants cost more than the old ones, in dollars."""
    return total([price for line, _, new in swaps(case) if new for price in (new["price"], -line["price"])])


def method(case: Case) -> Row | None:
    """The payment method that the customer chose; none if the profile does not have it."""
    row: Row | None = profile(case)["payment_methods"].get(case.slot("payment"))
    return row


def _state(row: Row) -> str:
    if row["status"] == MODIFIED:
        return "its items have already been changed once"
    return f"its status is {row['status']}"


def own_order(case: Case) -> No | None:
    """Everybody gets what concerns the own orders only."""
    return None if case.slot("order") in profile(case)["orders"] else No()


def _has_status(case: Case, *, allowed: tuple[str, ...]) -> No | None:
    """The order has one of some statuses."""
    row = order(case)
    return None if row["status"] in allowed else No({"state": _state(row)})


only_pending, only_delivered = partial(_has_status, allowed=("pending",)), partial(_has_status, allowed=("delivered",))
still_open = partial(_has_status, allowed=("pending", MODIFIED))
"""An order that has not been packed can be sent elsewhere, also if its items have been changed."""


def not_modified(case: Case) -> No | None:
    """The items of an order can be changed once."""
    row = order(case)
    return No({"state": _state(row)}) if row["status"] == MODIFIED else None


def accepted_reason(case: Case) -> No | None:
    """Two reasons for a cancellation count."""
    return None if case.slot("reason") in REASONS else No()


def paid_once(case: Case) -> No | None:
    """The payment of an order can be changed once."""
    return None if len(order(case)["payment_history"]) == 1 else No()


def own_method(case: Case) -> No | None:
    """Money moves between the shop and payment methods of the profile."""
    return None if method(case) else No()


def other_method(case: Case) -> No | None:
    """The new payment method is another one."""
    chosen = method(case)
    return No({"method": method_text(chosen)}) if chosen is not None and chosen["id"] == original(case) else None


def original_or_gift(case: Case) -> No | None:
    """A refund goes to where the money came from, or to a gift card."""
    chosen = method(case)
    if chosen is None or is_gift_card(chosen) or chosen["id"] == original(case):
        return None
    first = profile(case)["payment_methods"][original(case)]
    return No({"method": method_text(chosen), "original": method_text(first)})


def _covers(case: Case, amount: float) -> No | None:
    chosen = method(case)
    if chosen is None or chosen.get("balance", amount) >= amount:
        return None
    return No({"method": method_text(chosen), "amount": f"${amount:.2f}"})


def covers_order(case: Case) -> No | None:
    """A gift card must hold the whole amount."""
    return _covers(case, price_of(order(case)))


def covers_difference(case: Case) -> No | None:
    """A gift card must hold what is to be paid."""
    return _covers(case, difference(case))


def same_product(case: Case) -> No | None:
    """An item is swapped for a variant of the same product."""
    for line, wanted, new in swaps(case):
        if new is None and not (isinstance(wanted, tuple) and wanted[0] == line["name"]):
            other = wanted[0] if isinstance(wanted, tuple) else "different product"
            return No({"item": line["name"], "product": other})
    return None


def in_stock(case: Case) -> No | None:
    """The new variant can be had."""
    for line, wanted, new in swaps(case):
        if new is None or not new["available"]:
            options = wanted[1] if new is None else options_text(new["options"])
            return No({"item": line["name"], "options": options})
    return None


def _read_order(case: Case) -> JsonObject:
    return call("get_order_details", order_id=case.slot("order"))


def shows_owner(case: Case) -> list[Any]:
    """Whose an order is, or a payment method, shows in the profile, and in an order or what paid for it."""
    return [[profile_read(case), _read_order(case)]]


def shows_payment(case: Case) -> list[Any]:
    """What an order was paid with shows in the order."""
    return [_read_order(case)]


def shows_goods(case: Case) -> list[Any]:
    """Whether a variant is in stock shows in the product, and in the variant."""
    return [[one for line in items(case) for one in _goods(case, line["product_id"])]]


def shows_products(case: Case) -> list[Any]:
    """That two products are different shows in the one, and in the list of all."""
    return [[*shows_goods(case)[0], {"tool": "list_all_product_types"}]]


def _goods(case: Case, product_id: str) -> list[JsonObject]:
    variants = product(case, product_id)["variants"]
    return [
        call("get_product_details", product_id=product_id),
        *(call("get_item_details", item_id=key) for key in variants),
    ]


def method_text(row: Row) -> str:
    """A payment method as customers know it."""
    if row["source"] == "credit_card":
        return card_text(row)
    return "PayPal account" if row["source"] == "paypal" else "gift card"


def options_text(options: Row) -> str:
    """Options as they are said: ``size L, color navy and lining mesh``."""
    parts = [f"{axis} {value}" for axis, value in options.items()]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
