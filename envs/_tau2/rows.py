"""Parts of rows that both databases of the public benchmark have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

from simia_gym.errors import InputError
from simia_gym.types import JsonObject


class UserAddress(BaseModel):
    """The parts are texts. Its name and order show in the words of a validation error."""

    address1: str
    address2: str
    city: str
    country: str
    state: str
    zip: str


class Strict(BaseModel):
    """A part of a row that is read from a file: no value becomes another type."""

    model_config = ConfigDict(strict=True)


class Name(Strict):
    """A user's name."""

    first_name: str
    last_name: str


class CreditCard(Strict):
    """A payment method."""

    source: Literal["credit_card"]
    id: str
    brand: str
    last_four: str


def check_keys(tables: Mapping[str, Mapping[str, JsonObject]], where: str, **fields: str) -> None:
    """Check that a field of every row is the row's key.

    Args:
        tables: The tables.
        where: The file, for error messages.
        fields: The field's name by table.

    Raises:
        InputError: It is something else in some row; names the row.
    """
    for name, field in fields.items():
        for key, row in tables[name].items():
            if row[field] != key:
                what = f"{field} is {row[field]!r}, but its row is kept as {key!r}"
                raise InputError(what, where=f"{where}: {name}.{key}", fix="Correct it there.")
