"""Postal addresses as tools take them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import BaseModel, ValidationError

from simia_gym.errors import ToolError
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


def address_text(address: Mapping[str, str]) -> str:
    """Write an address on one line."""
    parts = (address["address1"], address["address2"], address["city"], f"{address['state']} {address['zip']}")
    return ", ".join([part for part in parts if part] + [address["country"]])
