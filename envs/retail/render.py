"""Observations of the tools that look something up, written from the state; the other tools show a row."""

from __future__ import annotations

import json

from simia_gym.envs.retail.lookup import find_by_email, find_by_name, find_variant, list_products
from simia_gym.state import State
from simia_gym.types import ToolCall


def user_by_email(state: State, call: ToolCall) -> str:
    """The id of the user with the email address.

    Raises:
        IndexError: There is none.
    """
    return find_by_email(state.draft(), call.arguments["email"])[0]


def user_by_name_zip(state: State, call: ToolCall) -> str:
    """The id of the user with the name and postal code.

    Raises:
        IndexError: There is none.
    """
    given = call.arguments
    return find_by_name(state.draft(), given["first_name"], given["last_name"], given["zip"])[0]


def item(state: State, call: ToolCall) -> str:
    """The variant as JSON.

    Raises:
        LookupError: No product has it.
    """
    variant = find_variant(state, call.arguments["item_id"])
    if variant is None:
        raise LookupError("no product has this item")
    return json.dumps(variant)


def product_types(state: State, call: ToolCall) -> str:
    """Names and ids of all products as JSON."""
    return list_products(state)
