"""The kinds of generated tasks: which wishes a customer has, in what order, and how it opens the conversation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from simia_gym.envs.retail import generate_words as words
from simia_gym.envs.retail.generate_cast import Cast, in_stock
from simia_gym.envs.retail.generate_refusals import REFUSED, identified, not_claimed
from simia_gym.envs.retail.generate_wishes import (
    GRANTED,
    Wish,
    call,
    lookup,
    payment_expected,
    payment_slot,
    send_back,
    swap,
    swap_call,
    variant_expected,
    variant_slot,
)
from simia_gym.service.people import make_user
from simia_gym.types import JsonObject

ALL_SOURCES = ("credit_card", "gift_card", "paypal")


@dataclass
class Plan:
    """What a task of some kind is about.

    Attributes:
        user: The customer's row.
        wishes: What it wants, in order.
        vague: Whether it opens without saying what it wants.
        email: Whether it remembers its email address; drawn if not given.
        posing: A row of somebody who is not in the database, if that is whose details the customer gives.
        criteria: Further rubric items.
    """

    user: JsonObject
    wishes: list[Wish]
    vague: bool = False
    email: bool | None = None
    posing: JsonObject | None = None
    criteria: list[JsonObject] = field(default_factory=list)


def _granted(name: str) -> Callable[[Cast], Plan]:
    def make(cast: Cast) -> Plan:
        user = cast.user(ALL_SOURCES if name == "lookup_balance" else None)
        return Plan(user, [GRANTED[name](cast, user)])

    return make


def _refused(name: str) -> Callable[[Cast], Plan]:
    def make(cast: Cast) -> Plan:
        user = cast.user()
        wish = REFUSED[name](cast, user)
        return Plan(user, [wish], criteria=[_nothing_tried(), not_claimed(wish)])

    return make


def _nothing_tried() -> JsonObject:
    return {
        "id": "nothing_tried",
        "kind": "forbidden",
        "check": {"program": "no_writes", "attempts": True},
        "says": "The agent does not even try to change anything.",
    }


def _not_tried(tool: str, order: str, **arguments: str) -> JsonObject:
    return {
        "id": "not_tried",
        "kind": "forbidden",
        "check": {"program": "not_called", "tool": tool, "arguments": {"order_id": order, **arguments}},
        "says": "The agent does not even try what policy forbids.",
    }


def _stranger(cast: Cast) -> Plan:
    """Cannot prove to be the owner of the account."""
    owner = cast.user()
    wish = REFUSED["refuse_stranger"](cast, owner)
    posing = make_user(cast.rng, set(), sources=("paypal",), name=("Thea", "Windermere"))
    criteria = [_nothing_tried(), not_claimed(wish)]
    return Plan(owner, [wish], email=True, posing=posing, criteria=criteria)


def _several(n: int) -> Callable[[Cast], Plan]:
    def make(cast: Cast) -> Plan:
        user = cast.user(ALL_SOURCES)
        names = cast.rng.sample(sorted(GRANTED), n)
        return Plan(user, [GRANTED[name](cast, user) for name in names])

    return make


def _withheld(cast: Cast) -> Plan:
    """Opens vaguely and tells every detail only when asked."""
    user = cast.user()
    cast.mode = "unknown"
    name = cast.rng.choice(("cancel", "modify_items", "modify_address", "exchange", "return", "modify_payment"))
    return Plan(user, [GRANTED[name](cast, user)], vague=True, email=cast.rng.random() < 0.3)


def _changed_variant(cast: Cast) -> Plan:
    """Changes its mind about the new variant when asked to confirm."""
    user = cast.user()
    delivered = cast.rng.random() < 0.5
    wish = swap(cast, user, delivered=delivered)
    about = wish.about
    product, old = about["product"], about["old"]
    other = cast.rng.choice([key for key in in_stock(product) if key not in (old, about["new"])])
    options = words.spoken_options(product["variants"][other]["options"])
    expect = [item for item in wish.request["expect"] if item["slot"] != "variant"]
    change = {
        "say": words.fill(words.CHANGE_VARIANT, options=options),
        "slots": {"variant": variant_slot(product, old, other)},
        "expect": [*expect, *variant_expected(product, old, other)],
    }
    gold = swap_call(delivered, about["order"], old, other, about["method"])
    return Plan(user, [Wish({**wish.request, "change": change}, (gold,))])


def _changed_refund(cast: Cast) -> Plan:
    """Changes its mind about where the refund goes."""
    user = cast.user(ALL_SOURCES)
    wish = send_back(cast, user, original=True)
    about = wish.about
    gift = about["gift"]
    expect = [item for item in wish.request["expect"] if item["slot"] != "payment"]
    change = {
        "say": list(words.CHANGE_REFUND),
        "slots": {"payment": payment_slot(user, gift)},
        "expect": [*expect, payment_expected(user, gift, original=about["paid"])],
    }
    return Plan(user, [_returning(wish, {**wish.request, "change": change}, about["items"], gift)])


def _changed_items(cast: Cast) -> Plan:
    """Changes its mind about how much to return."""
    user = cast.user()
    wish = send_back(cast, user, n_items=2)
    about = wish.about
    returned, kept = (product["name"] for product in about["products"])
    expect = [item for item in wish.request["expect"] if kept not in item["any"]]
    change = {
        "say": words.fill(words.CHANGE_ITEMS, kept=kept, returned=returned),
        "slots": {"item": {"say": words.fill(words.ITEM, product=returned), "values": [returned]}},
        "expect": expect,
    }
    return Plan(user, [_returning(wish, {**wish.request, "change": change}, about["items"][:1], about["method"])])


def _returning(wish: Wish, request: JsonObject, items: list[str], method: str) -> Wish:
    order = wish.about["order"]["order_id"]
    gold = call("return_delivered_order_items", order_id=order, item_ids=items, payment_method_id=method)
    return Wish(request, (gold,))


def _withdrawn(cast: Cast) -> Plan:
    """Withdraws a cancellation when asked to confirm, then has a question."""
    user = cast.user(ALL_SOURCES)
    wish = GRANTED["cancel"](cast, user)
    request = {**wish.request, "change": {"say": list(words.WITHDRAW), "withdraw": True}}
    question = lookup(cast, user, cast.rng.choice(("balance", "price", "options", "tracking")))
    return Plan(user, [Wish(request), question], criteria=[_nothing_tried()])


def _refuse_then_return(cast: Cast) -> Plan:
    """Wants the refund elsewhere, then accepts the original method."""
    user = cast.user(("credit_card", "paypal"))
    refused = REFUSED["refuse_return_elsewhere"](cast, user)
    about = refused.about
    paid, order = about["paid"], about["order"]["order_id"]
    elsewhere = next(key for key in user["payment_methods"] if key != paid)
    expect = [item for item in refused.request["expect"] if item["slot"] != "payment"]
    request: JsonObject = {
        **{key: value for key, value in refused.request.items() if key not in ("insist", "insist_say", "accept")},
        "id": "return_after_all",
        "say": list(words.THEN_ORIGINAL),
        "slots": {**refused.request["slots"], "payment": payment_slot(user, paid, original=True)},
        "expect": [*expect, payment_expected(user, paid, original=paid)],
    }
    gold = call("return_delivered_order_items", order_id=order, item_ids=about["items"], payment_method_id=paid)
    criterion = _not_tried("return_delivered_order_items", order, payment_method_id=elsewhere)
    return Plan(user, [refused, Wish(request, (gold,))], criteria=[criterion, not_claimed(refused)])


def _refuse_then_other(cast: Cast) -> Plan:
    """Has a forbidden wish, then one that can be granted."""
    user = cast.user(ALL_SOURCES)
    refused = REFUSED[cast.rng.choice(("refuse_cancel_reason", "refuse_cancel_processed", "refuse_modify_twice"))](
        cast, user
    )
    name = cast.rng.choice(("return", "exchange", "user_address", "modify_address", "lookup_balance"))
    request = refused.request
    criterion = _not_tried(request["done"][0]["tool"], request["expect"][0]["any"][0])
    return Plan(user, [refused, GRANTED[name](cast, user)], criteria=[criterion, not_claimed(refused)])


def _transfer(cast: Cast) -> Plan:
    """Asks for something that only a human can deal with."""
    user = cast.user()
    request: JsonObject = {
        "id": "transfer",
        "say": list(words.ASKS["transfer"]),
        "accept": list(words.ACCEPT),
        "insist": 1,
    }
    handed = {
        "id": "handed_over",
        "kind": "interaction",
        "weight": 1,
        "required": True,
        "check": {"program": "called", "tool": "transfer_to_human_agents"},
        "says": "The agent hands the customer over to a human.",
    }
    gold = call("transfer_to_human_agents", summary="The customer asks for something that is no matter of an order.")
    criteria = [handed, identified(user), {"id": "no_transfer", "drop": True}]
    return Plan(user, [Wish(request, (gold,))], criteria=criteria)


_SPECIAL: Mapping[str, Callable[[Cast], Plan]] = {
    "combined_two": _several(2),
    "combined_three": _several(3),
    "withheld": _withheld,
    "changed_variant": _changed_variant,
    "changed_refund": _changed_refund,
    "changed_items": _changed_items,
    "changed_withdraw": _withdrawn,
    "transfer": _transfer,
    "refuse_stranger": _stranger,
    "refuse_then_return": _refuse_then_return,
    "refuse_then_other": _refuse_then_other,
}


def _interleave() -> dict[str, Callable[[Cast], Plan]]:
    """Granted kinds alternate with the others until there are no more of them."""
    rest = {**{name: _refused(name) for name in REFUSED if name not in _SPECIAL}, **_SPECIAL}
    granted = {name: _granted(name) for name in GRANTED}
    pairs = itertools.zip_longest(granted.items(), rest.items())
    return dict(item for pair in pairs for item in pair if item is not None)


KINDS: Mapping[str, Callable[[Cast], Plan]] = _interleave()
"""What draws a task of each kind, by name; generated tasks go through them in this order, again and again.

Policy forbids what is asked, or a part of it, where the name begins with ``refuse``.
"""
