"""A yes covers no write that the message before it contradicts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from simia_gym.state import State

from .story import Story, op, run

ARGUMENTS: Mapping[str, Any] = {
    "order": "#W1",
    "street": "12 Main St",
    "unit": "Suite 7",
    "city": "Oslo",
    "state": "IL",
    "zip": "0150",
    "gift_wrap": False,
    "insurance": "yes",
}
SHOP = State.from_tables({"orders": {"#W1": {"note": "", "fee": 0, "history": [], "more": {}, "returned": []}}})
RULES: dict[str, Any] = {
    "binds": {"change_address": ["order", ["street", "zip"]]},
    "prices": [3, 5],
    "money": {"fee": "paid", "history": "paid", "returned": "returned"},
}

OTHER_WAY = {
    "will be charged": "get back",
    "You pay": "You receive",
    "You get $3 back for the old one": "You pay $3 for the old one",
    "which you owe": "which comes back to you",
    "will be refunded": "will be charged",
    "goes back to you": "you owe",
}


def agreed(text: str, field: str = "note", value: Any = "") -> bool:
    """Whether a yes to a text covers the write that sets a field."""
    change = op(f"/orders/#W1/{field}", value)
    finished = Story(SHOP).say(text, "Yes.", ["confirm"]).call("change_address", [change], **ARGUMENTS).finished()
    return run(finished, "confirmed_writes", **RULES).met is True


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("$5 will be charged to your card.", True),
        ("You pay $5.", True),
        ("That is $5.", True),
        ("You get $3 back for the old one, and you will be charged $5.", True),
        ("No charge but $5, which you owe.", True),
        ("$5 will be refunded to your card.", False),
        ("- Amount: $5, which goes back to you", False),
    ],
)
@pytest.mark.parametrize(
    ("field", "value", "paid"),
    [
        ("fee", 5, True),
        ("fee", -5, False),
        ("history", [{"kind": "payment", "amount": 5}], True),
        ("history", [{"kind": "refund", "amount": 5}], False),
        ("more", {"history": [{"amount": 1}, {"amount": 4}]}, True),
    ],
)
def test_money_goes_the_way_that_was_proposed(text: str, covered: bool, field: str, value: Any, paid: bool) -> None:
    if not paid:
        text = re.sub("|".join(map(re.escape, OTHER_WAY)), lambda found: OTHER_WAY[found[0]], text)
    assert agreed(f"Order #W1 goes to 12 Main St. {text} Shall I?", field, value) is covered


def test_a_field_can_say_that_money_comes_back_without_an_amount() -> None:
    asked = "Order #W1 goes to 12 Main St, $5 will be {} your card. Shall I?"
    assert agreed(asked.format("returned to"), "returned", ["i1"])
    assert not agreed(asked.format("charged to"), "returned", ["i1"])


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("with insurance", True),
        ("insured, without gift wrap", True),
        ("with or without insurance, as you like", True),
        ("and nothing else", True),
        ("without insurance", False),
        ("- Insurance: none", False),
        ("with insurance and with gift wrap", False),
        ("- Insurance: yes\n- Gift wrap: no", True),
    ],
)
def test_what_is_had_is_what_was_proposed(text: str, covered: bool) -> None:
    assert agreed(f"Order #W1 goes to 12 Main St:\n{text}\n\nShall I?") is covered


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("12 Main St, Suite 7, Oslo, IL 0150", True),
        ("12 Main St, Unit 7, Oslo, Illinois 0150", True),
        ("12 Main St, zip code 0150", True),
        ("12 Main St, Oslo, IL 0150. Do you think it will do?", True),
        ("- Street: 12 Main St\n- Apt/Suite: Suite 7\n- City: Oslo\n- Zip: 0150", True),
        ("12 Main St, Oslo, IL 0150 (Bergen), Suite 7", False),
        ("12 Main St", True),
        ("- Street: 12 Main St\n- City: Oslo\n- State: IL\n- Zip: 0150", True),
        ("12 Main St, Suite 7, Bergen, IL 0150", False),
        ("12 Main St, Bergen (Oslo), IL 0150", False),
        ("- Street: 12 Main St\n- City: Bergen\n- Zip: 0150", False),
    ],
)
def test_nothing_else_stands_among_the_parts_of_an_address(text: str, covered: bool) -> None:
    assert agreed(f"Order #W1 goes to:\n{text}\n\nShall I?") is covered
