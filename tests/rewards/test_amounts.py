"""A yes covers a write only if the amounts in the proposal are right."""

from __future__ import annotations

import pytest

from .story import Story, run

ORDER = """{"order_id": "#W1", "items": [{"item_id": "i7001", "price": 20.5}, {"item_id": "i7002", "price": 10},
 {"item_id": "i7003", "price": 5.5}], "payment_history": [{"payment_id": "visa_77", "amount": 36.0}]}"""
OTHER = """{"order_id": "#W2", "items": [{"item_id": "i7004", "price": 99.0}],
 "payment_history": [{"payment_id": "visa_77", "amount": 99.0}]}"""
CUSTOMER = """{"user_id": "ada_1", "cards": {"visa_77": {"limit": 500}, "gift_card_809": {"balance": 62.25}}}"""
BOUND = {"binds": {"cancel_order": ["order_id"]}, "prices": [3]}


def agreed(text: str, *orders: str) -> bool:
    """Whether a yes to a text covers that orders are cancelled."""
    story = Story(opening="I have paid $17 too much.").call("get_user", observation=CUSTOMER, user_id="ada_1")
    story.call("get_order", observation=ORDER, order_id="#W1").call("get_order", observation=OTHER, order_id="#W2")
    story.say(f"{text} Shall I cancel {' and '.join(orders)}?", "Yes.", ["confirm"])
    for order in orders:
        story.call("cancel_order", order_id=order, payment_id="visa_77")
    return run(story.finished(), "confirmed_writes", **BOUND).met is True


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("You get $36 back.", True),
        ("You get 36.00 USD back.", True),
        ("You get 36 dollars back.", True),
        ("You get $20.50, $10.00 and $5.50 back, $36.00 in total.", True),
        ("You get $30.50 for two of them.", True),
        ("It is $12 for each of the three.", True),
        ("The first one was $10.50 more than the second.", True),
        ("The last one was about $6.", True),
        ("The fee is $3, and not the $17 that you spoke of.", True),
        ("You get $36 back, up to your limit of $500.", True),
        ("Your gift_card_809 with $62.25 stays as it is.", True),
        ("I cannot give you $360. You get $36 back.", True),
        ("Nothing is charged.", True),
        ("Others are in stock for $62–$99. You get $36 back.", True),
        ("Others are in stock for $62 to $500. You get $36 back.", True),
        ("Others are in stock for $62–$98. You get $36 back.", False),
        ("You get $62 back.", False),
        ("You get $360 back.", False),
        ("You get $39.60 back.", False),
        ("You get 936 dollars back.", False),
        ("You get USD 40 back.", False),
        ("You get $99 back.", False),
        ("You get $62.25 back.", False),
        ("You get $36 back, and $4 on top.", False),
    ],
)
def test_a_yes_covers_right_amounts(said: str, right: bool) -> None:
    assert agreed(said, "#W1") is right


def test_a_yes_to_several_writes_covers_what_they_come_to_together() -> None:
    assert agreed("You get $36 and $99 back.", "#W1", "#W2")
    assert not agreed("You get $36 and $88 back.", "#W1", "#W2")


def test_amounts_that_only_the_write_shows_are_right() -> None:
    story = Story().say("I cancel #W1, for a fee of $8. Shall I?", "Yes.", ["confirm"])
    shown = story.call("cancel_order", observation='{"order_id": "#W1", "fee": 8}', order_id="#W1").finished()
    assert run(shown, "confirmed_writes", **BOUND).met


@pytest.mark.parametrize("amount", ["9" * 5000, f"1.{'7' * 5000}"])
def test_no_amount_is_too_long(amount: str) -> None:
    assert not agreed(f"You get ${amount} back.", "#W1")


@pytest.mark.parametrize("number", ["1e400", "-1e30", "NaN", "1" * 4000])
def test_no_number_is_too_large(number: str) -> None:
    answer = f'{{"order_id": "#W1", "fee": 8, "points": {number}}}'
    story = Story().say("I cancel #W1, for a fee of $9. Shall I?", "Yes.", ["confirm"])
    shown = story.call("cancel_order", observation=answer, order_id="#W1").finished()
    assert not run(shown, "confirmed_writes", **BOUND).met


def test_a_flood_in_a_proposal_is_read_in_linear_time() -> None:
    assert not agreed(f"{'-' * 400_000} You get $360 back.", "#W1")
