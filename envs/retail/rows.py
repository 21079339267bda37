"""A retail database as the public benchmark publishes it, brought into the form that the world works on.

Rows get their fields in the order in which the benchmark shows them, whole numbers become amounts where amounts belong,
optional fields that are left out become null. Everything that does not fit is named by its JSON Pointer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simia_gym.errors import InputError
from simia_gym.state import make_pointer
from simia_gym.types import JsonObject

Parts = tuple[str, ...]
Reader = Callable[[Any, Parts], Any]
Tables = dict[str, dict[str, JsonObject]]


class _Misfit(Exception):
    def __init__(self, parts: Parts, what: str) -> None:
        self.parts, self.what = parts, what
        super().__init__(what)


def _text(value: Any, at: Parts) -> str:
    if not isinstance(value, str):
        raise _Misfit(at, f"expected a string, got {_shown(value)}")
    return value


def _flag(value: Any, at: Parts) -> bool:
    if not isinstance(value, bool):
        raise _Misfit(at, f"expected true or false, got {_shown(value)}")
    return value


def _amount(value: Any, at: Parts) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Misfit(at, f"expected a number, got {_shown(value)}")
    return float(value)


def _one_of(*words: str) -> Reader:
    def read(value: Any, at: Parts) -> str:
        if value not in words:
            raise _Misfit(at, f"expected one of {', '.join(map(repr, words))}, got {_shown(value)}")
        return str(value)

    return read


def _maybe(reader: Reader) -> Reader:
    def read(value: Any, at: Parts) -> Any:
        return None if value is None else reader(value, at)

    read.__dict__["optional"] = True
    return read


def _list(reader: Reader) -> Reader:
    def read(value: Any, at: Parts) -> list[Any]:
        if not isinstance(value, list):
            raise _Misfit(at, f"expected a list, got {_shown(value)}")
        return [reader(item, (*at, str(index))) for index, item in enumerate(value)]

    return read


def _map(reader: Reader) -> Reader:
    def read(value: Any, at: Parts) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _Misfit(at, f"expected an object, got {_shown(value)}")
        return {key: reader(item, (*at, key)) for key, item in value.items()}

    return read


def _object(fields: Mapping[str, Reader]) -> Reader:
    plan = [(name, reader, getattr(reader, "optional", False)) for name, reader in fields.items()]

    def read(value: Any, at: Parts) -> JsonObject:
        if not isinstance(value, dict):
            raise _Misfit(at, f"expected an object, got {_shown(value)}")
        row: JsonObject = {}
        for name, reader, optional in plan:
            if name not in value and not optional:
                raise _Misfit(at, f"has no {name!r}")
            row[name] = reader(value.get(name), (*at, name))
        return row

    return read


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_METHODS: Mapping[str, Reader] = {
    "credit_card": _object({"source": _text, "id": _text, "brand": _text, "last_four": _text}),
    "paypal": _object({"source": _text, "id": _text}),
    "gift_card": _object({"source": _text, "id": _text, "balance": _amount}),
}


def _payment_method(value: Any, at: Parts) -> JsonObject:
    source = value.get("source") if isinstance(value, dict) else None
    if not isinstance(source, str) or source not in _METHODS:
        raise _Misfit(at, f"expected a payment method with a source among {', '.join(_METHODS)}, got {_shown(value)}")
    row: JsonObject = _METHODS[source](value, at)
    return row


_ADDRESS = _object(dict.fromkeys(("address1", "address2", "city", "country", "state", "zip"), _text))
_VARIANT = _object({"item_id": _text, "options": _map(_text), "available": _flag, "price": _amount})
_LINE = _object({"name": _text, "product_id": _text, "item_id": _text, "price": _amount, "options": _map(_text)})
_PARCEL = _object({"tracking_id": _list(_text), "item_ids": _list(_text)})
_PAYMENT = _object(
    {"transaction_type": _one_of("payment", "refund"), "amount": _amount, "payment_method_id": _text},
)
STATUSES = (
    "processed",
    "pending",
    "pending (item modified)",
    "delivered",
    "cancelled",
    "exchange requested",
    "return requested",
)
"""Every status that an order can have."""

_ROWS: Mapping[str, tuple[str, Reader]] = {
    "products": ("product_id", _object({"name": _text, "product_id": _text, "variants": _map(_VARIANT)})),
    "users": (
        "user_id",
        _object(
            {
                "user_id": _text,
                "name": _object({"first_name": _text, "last_name": _text}),
                "address": _ADDRESS,
                "email": _text,
                "payment_methods": _map(_payment_method),
                "orders": _list(_text),
            }
        ),
    ),
    "orders": (
        "order_id",
        _object(
            {
                "order_id": _text,
                "user_id": _text,
                "address": _ADDRESS,
                "items": _list(_LINE),
                "status": _one_of(*STATUSES),
                "fulfillments": _list(_PARCEL),
                "payment_history": _list(_PAYMENT),
                "cancel_reason": _maybe(_one_of("no longer needed", "ordered by mistake")),
                "exchange_items": _maybe(_list(_text)),
                "exchange_new_items": _maybe(_list(_text)),
                "exchange_payment_method_id": _maybe(_text),
                "exchange_price_difference": _maybe(_amount),
                "return_items": _maybe(_list(_text)),
                "return_payment_method_id": _maybe(_text),
            }
        ),
    ),
}


def read_tables(document: Any, where: str) -> Tables:
    """Read a whole database.

    Args:
        document: The decoded JSON document.
        where: The file, for error messages.

    Returns:
        The tables ``products``, ``users`` and ``orders``.

    Raises:
        InputError: Something does not fit; names the place.
    """
    if not isinstance(document, dict):
        raise InputError("is not a database: expected an object of tables", where=where, fix=_FIX)
    missing = [name for name in _ROWS if name not in document]
    unknown = [name for name in document if name not in _ROWS]
    if missing or unknown:
        what = f"has no table {missing[0]!r}" if missing else f"has an unknown table {unknown[0]!r}"
        raise InputError(what, where=where, fix=_FIX)
    try:
        return {name: _table(name, document[name]) for name in _ROWS}
    except _Misfit as misfit:
        raise InputError(misfit.what, where=f"{where}, {make_pointer(*misfit.parts)}", fix="Mend it there.") from None


_FIX = f"A retail database has the tables {', '.join(_ROWS)}."


def _table(name: str, rows: Any) -> dict[str, JsonObject]:
    key_field, reader = _ROWS[name]
    table: dict[str, JsonObject] = _map(reader)(rows, (name,))
    for key, row in table.items():
        if row[key_field] != key:
            raise _Misfit((name, key, key_field), f"is {row[key_field]!r}, but its row is kept as {key!r}")
    return table
