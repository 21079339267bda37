"""The expert's memory of a conversation: the rows that tools returned, and the wish in progress."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simia_gym.envs.retail.expert_reading import names_in
from simia_gym.types import JsonObject


@dataclass
class Intent:
    """A wish in work.

    Attributes:
        kind: As `wish_in` names it.
        text: Everything the customer has said about it.
        said: What the customer said to a question: question to text.
        asked: Questions that were asked.
        order_id: The order it is about.
        proposal: The call that was proposed and waits for a yes.
        state: ``open``, ``written`` or ``closed``.
        why: Why it was refused, once it was.
        insisted: How often the customer has objected to that.
    """

    kind: str
    text: str
    said: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    order_id: str | None = None
    proposal: JsonObject | None = None
    state: str = "open"
    why: str = ""
    insisted: int = 0

    @property
    def closed(self) -> bool:
        """Whether it is settled."""
        return self.state == "closed"


class CaseFile:
    """Rows that tools returned in this conversation, by their ids."""

    def __init__(self) -> None:
        self.profile: JsonObject | None = None
        self.orders: dict[str, JsonObject] = {}
        self.products: dict[str, JsonObject] = {}
        self.types: dict[str, str] | None = None

    def take(self, name: str, content: str) -> None:
        """Keep the row that a tool returned; other answers say nothing about the case."""
        if not content.startswith("{"):
            return
        row = json.loads(content)
        if name == "list_all_product_types":
            self.types = row
        elif name == "get_product_details":
            self.products[row["product_id"]] = row
        elif "order_id" in row:
            self.orders[row["order_id"]] = row
        elif "payment_methods" in row:
            self.profile = row

    @property
    def methods(self) -> Mapping[str, Any]:
        """The customer's payment methods."""
        return {} if self.profile is None else self.profile["payment_methods"]

    def unread_order(self) -> str | None:
        """An order of the customer that has not been looked at."""
        ids: Sequence[str] = () if self.profile is None else self.profile["orders"]
        return next((key for key in ids if key not in self.orders), None)

    def order_with(self, text: str) -> str | None:
        """The customer's order that has a product in it which the text names."""
        ids: Sequence[str] = () if self.profile is None else self.profile["orders"]
        for key in ids:
            order = self.orders.get(key)
            if order is not None and names_in(text, [item["name"] for item in order["items"]]):
                return key
        return None


def original_method(order: Mapping[str, Any]) -> str:
    """What an order was paid with."""
    return str(order["payment_history"][0]["payment_method_id"])


def paid_total(order: Mapping[str, Any]) -> float:
    """What the items of an order cost."""
    return float(sum(round(item["price"] * 100) for item in order["items"])) / 100
