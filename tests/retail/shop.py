"""A small shop: two products, a customer with three payment methods, her namesake, and the orders that a test needs."""

from __future__ import annotations

from itertools import pairwise

from simia_gym.envs.retail.orders import OPTIONAL_FIELDS, entry, line_item, price_of
from simia_gym.state import State
from simia_gym.types import JsonObject

ADDRESS = {"address1": "1 Kiln Lane", "address2": "", "city": "Boise", "country": "USA", "state": "ID", "zip": "83701"}
VARIANTS: dict[str, tuple[float, str, bool]] = {
    "11": (10.1, "red", True),
    "12": (12.35, "blue", True),
    "13": (9.99, "teal", False),
    "14": (0.7, "grey", True),
    "21": (100.0, "red", True),
    "22": (80.2, "blue", True),
}
"""Price, color and availability by item id; the first digit is the product's id."""


def products() -> dict[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for item, (price, color, available) in VARIANTS.items():
        product = found.setdefault(item[0], {"name": f"P{item[0]}", "product_id": item[0], "variants": {}})
        product["variants"][item] = {
            "item_id": item,
            "options": {"color": color},
            "available": available,
            "price": price,
        }
    return found


def order(key: str, status: str, items: list[str], *methods: str) -> JsonObject:
    """An order whose whole price was paid with the first method, and then moved to each further one."""
    lines = [line_item(products()[item[0]], item) for item in items]
    amount = price_of({"items": lines})
    history = [entry("payment", amount, methods[0])]
    for old, new in pairwise(methods):
        history += [entry("payment", amount, new), entry("refund", amount, old)]
    return {
        "order_id": key,
        "user_id": "alba_cho_1",
        "address": dict(ADDRESS),
        "items": lines,
        "status": status,
        "fulfillments": [],
        "payment_history": history,
        **dict.fromkeys(OPTIONAL_FIELDS),
    }


def shop(*orders: JsonObject) -> State:
    """The shop with these orders."""
    user = {
        "user_id": "alba_cho_1",
        "name": {"first_name": "Alba", "last_name": "Cho"},
        "address": dict(ADDRESS),
        "email": "Alba.Cho@example.com",
        "payment_methods": {
            "card": {"source": "credit_card", "id": "card", "brand": "visa", "last_four": "0001"},
            "gift": {"source": "gift_card", "id": "gift", "balance": 20.0},
            "pal": {"source": "paypal", "id": "pal"},
        },
        "orders": [order["order_id"] for order in orders],
    }
    twin = {**user, "user_id": "alba_cho_2", "address": {**ADDRESS, "zip": "83702"}, "email": "c@example.com"}
    users = {"alba_cho_1": user, "alba_cho_2": twin}
    return State.from_tables(
        {"products": products(), "users": users, "orders": {order["order_id"]: order for order in orders}}
    )
