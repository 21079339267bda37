"""A retail database as the public benchmark publishes it, brought into the form that the world works on.

The fields of a row get the order in which the benchmark shows them. Whole numbers become floats in amounts. Optional
fields that are left out become null.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from simia_gym.common.validation import validated
from simia_gym.envs._tau2.rows import CreditCard, Name, Strict, UserAddress, check_keys
from simia_gym.types import JsonObject

FIELDS = ("address1", "address2", "city", "country", "state", "zip")
"""The parts of an address, in the order in which they are stored and shown."""


def make_address(**parts: object) -> JsonObject:
    """Put the parts into an address; there must be one for every field.

    Raises:
        ValidationError: A part is no text.
    """
    if all(isinstance(value, str) for value in parts.values()):
        return {field: parts[field] for field in FIELDS}
    return UserAddress.model_validate(parts).model_dump()


class _Variant(Strict):
    item_id: str
    options: dict[str, str]
    available: bool
    price: float


class _Product(Strict):
    name: str
    product_id: str
    variants: dict[str, _Variant]


class _PayPal(Strict):
    source: Literal["paypal"]
    id: str


class _GiftCard(Strict):
    source: Literal["gift_card"]
    id: str
    balance: float


class _User(Strict):
    user_id: str
    name: Name
    address: UserAddress
    email: str
    payment_methods: dict[str, Annotated[CreditCard | _PayPal | _GiftCard, Field(discriminator="source")]]
    orders: list[str]


class _Line(Strict):
    name: str
    product_id: str
    item_id: str
    price: float
    options: dict[str, str]


class _Parcel(Strict):
    tracking_id: list[str]
    item_ids: list[str]


class _Payment(Strict):
    transaction_type: Literal["payment", "refund"]
    amount: float
    payment_method_id: str


class _Order(Strict):
    order_id: str
    user_id: str
    address: UserAddress
    items: list[_Line]
    status: Literal[
        "processed",
        "pending",
        "pending (item modified)",
        "delivered",
        "cancelled",
        "exchange requested",
        "return requested",
    ]
    fulfillments: list[_Parcel]
    payment_history: list[_Payment]
    cancel_reason: Literal["no longer needed", "ordered by mistake"] | None = None
    exchange_items: list[str] | None = None
    exchange_new_items: list[str] | None = None
    exchange_payment_method_id: str | None = None
    exchange_price_difference: float | None = None
    return_items: list[str] | None = None
    return_payment_method_id: str | None = None


class _Database(Strict):
    model_config = ConfigDict(extra="forbid")

    products: dict[str, _Product]
    users: dict[str, _User]
    orders: dict[str, _Order]


def read_tables(document: Any, where: str) -> dict[str, dict[str, JsonObject]]:
    """Read a whole database.

    Returns:
        The tables ``products``, ``users`` and ``orders``.

    Raises:
        InputError: Something does not fit; names the place.
    """
    tables: dict[str, dict[str, JsonObject]] = validated(_Database, document, where=f"{where}: ").model_dump()
    check_keys(tables, where, products="product_id", users="user_id", orders="order_id")
    return tables
