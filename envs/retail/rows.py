"""A retail database as the public benchmark publishes it, brought into the form that the world works on.

The fields of a row get the order in which the benchmark shows them. Whole numbers become floats in amounts. Optional
fields that are left out become null.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from simia_gym.common.validation import validated
from simia_gym.errors import InputError, ToolError
from simia_gym.types import JsonObject

FIELDS = ("address1", "address2", "city", "country", "state", "zip")
"""The parts of an address, in the order in which they are stored and shown."""

_LINK = re.compile(r"(errors\.pydantic\.dev/)[\d.]+/")
_LINKED_VERSION = "2.12"


class UserAddress(BaseModel):
    """The parts are texts. Its name and order show in the words of a validation error."""

    address1: str
    address2: str
    city: str
    country: str
    state: str
    zip: str


def make_address(**parts: object) -> JsonObject:
    """Put the parts into an address; there must be one for every field.

    Raises:
        ToolError: A part is no text; the message is the public benchmark's, which names pydantic 2.12.
    """
    if all(isinstance(value, str) for value in parts.values()):
        return {field: parts[field] for field in FIELDS}
    try:
        return UserAddress.model_validate(parts).model_dump()
    except ValidationError as error:
        raise ToolError(_LINK.sub(rf"\g<1>{_LINKED_VERSION}/", str(error)), "invalid_arguments") from error


class _Row(BaseModel):
    model_config = ConfigDict(strict=True)


class _Variant(_Row):
    item_id: str
    options: dict[str, str]
    available: bool
    price: float


class _Product(_Row):
    name: str
    product_id: str
    variants: dict[str, _Variant]


class _Name(_Row):
    first_name: str
    last_name: str


class _CreditCard(_Row):
    source: Literal["credit_card"]
    id: str
    brand: str
    last_four: str


class _PayPal(_Row):
    source: Literal["paypal"]
    id: str


class _GiftCard(_Row):
    source: Literal["gift_card"]
    id: str
    balance: float


class _User(_Row):
    user_id: str
    name: _Name
    address: UserAddress
    email: str
    payment_methods: dict[str, Annotated[_CreditCard | _PayPal | _GiftCard, Field(discriminator="source")]]
    orders: list[str]


class _Line(_Row):
    name: str
    product_id: str
    item_id: str
    price: float
    options: dict[str, str]


class _Parcel(_Row):
    tracking_id: list[str]
    item_ids: list[str]


class _Payment(_Row):
    transaction_type: Literal["payment", "refund"]
    amount: float
    payment_method_id: str


class _Order(_Row):
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


class _Database(_Row):
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
    for name, key_field in (("products", "product_id"), ("users", "user_id"), ("orders", "order_id")):
        for key, row in tables[name].items():
            if row[key_field] != key:
                what = f"{key_field} is {row[key_field]!r}, but its row is kept as {key!r}"
                raise InputError(what, where=f"{where}: {name}.{key}", fix="Correct it there.")
    return tables
