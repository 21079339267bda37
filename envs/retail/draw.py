"""The people, goods and orders of a task, and how a wish breaks a rule or only just keeps it.

The users, products and orders that a task is about exist in no other task, so that a policy cannot memorise them. A
customer's other orders are filled with items of the shop's catalogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

from simia_gym.envs._tau2.people import FIRST_NAMES, LAST_NAMES, make_address, make_payment_method, make_user
from simia_gym.envs.retail.build import load_tables
from simia_gym.envs.retail.catalogue import fresh_product, make_product
from simia_gym.envs.retail.orders import (
    REASONS,
    Status,
    entry,
    is_gift_card,
    line_item,
    make_order,
    make_parcel,
    price_of,
    total,
)
from simia_gym.envs.retail.rules import CHEAPEST, options_text
from simia_gym.service import Cast, Drawn, Member
from simia_gym.types import JsonObject, Row

_SOURCES = (("credit_card", "paypal"), ("credit_card", "gift_card", "paypal"), ("paypal", "gift_card", "credit_card"))


@cache
def _catalogue() -> Row:
    return load_tables()["products"]


@cache
def _names() -> frozenset[tuple[str, str]]:
    return frozenset((row["name"]["first_name"], row["name"]["last_name"]) for row in load_tables()["users"].values())


def new_customer(cast: Cast) -> Member:
    """Somebody whose name nobody has."""
    name = cast.fresh([(first, last) for first in FIRST_NAMES for last in LAST_NAMES if (first, last) not in _names()])
    balance = cast.rng.randrange(90_000, 200_000) / 100
    row = make_user(cast.rng, cast.taken, sources=cast.rng.choice(_SOURCES), gift_balance=balance, name=name)
    details = {"email": row["email"], "name": row["name"], "zip": row["address"]["zip"]}
    return Member("users", row["user_id"], row, details)


def _product(cast: Cast, variants: int = 4) -> JsonObject:
    names = {row["name"] for row in cast.rows("products").values()}
    row = make_product(cast.rng, *fresh_product(cast.rng, names), variants, cast.taken)
    return cast.add("products", row["product_id"], row)


def _in_stock(product: Row) -> list[str]:
    return [key for key, variant in product["variants"].items() if variant["available"]]


def _order(
    cast: Cast, who: Member, status: Status, lines: Sequence[tuple[JsonObject, str]], *, extra: int, method: str = ""
) -> JsonObject:
    """An order of these variants and of some things from the catalogue."""
    catalogue = _catalogue()
    bought = [(product["product_id"], item_id) for product, item_id in lines]
    more = cast.rng.sample(sorted(catalogue), extra)
    bought.extend((key, cast.rng.choice(sorted(catalogue[key]["variants"]))) for key in more)
    products = {**catalogue, **{product["product_id"]: product for product, _ in lines}}
    paid = method or cast.rng.choice(sorted(who.row["payment_methods"]))
    row = make_order(cast.rng, who.row, products, cast.taken, status=status, items=bought, payment_method_id=paid)
    return cast.add("orders", row["order_id"], row)


def _draw(cast: Cast, who: Member, status: Status, *, variants: int = 4, method: str = "") -> Drawn:
    """A new product and the customer's order of one of its variants, maybe among others of the customer's orders."""
    product = _product(cast, variants)
    item = cast.rng.choice(_in_stock(product))
    row = _order(cast, who, status, [(product, item)], extra=cast.rng.choice((0, 1)), method=method)
    for _ in range(cast.rng.choice((0, 1, 1))):
        other: Status = cast.rng.choice(("pending", "delivered", "delivered", "processed", "cancelled"))
        _order(cast, who, other, (), extra=cast.rng.choice((1, 2)))
    cast.rng.shuffle(who.row["orders"])
    return Drawn({"order": row["order_id"], "items": [item]}, {"order": row, "product": product})


draw_delivered, draw_cancelled = partial(_draw, status="delivered"), partial(_draw, status="cancelled")


def draw_open(cast: Cast, who: Member) -> Drawn:
    """An order that has not arrived."""
    return _draw(cast, who, cast.rng.choice(("processed", "pending")))


def draw_pending(cast: Cast, who: Member) -> Drawn:
    """A pending order, and a reason to cancel it."""
    drawn = _draw(cast, who, "pending")
    drawn.slots["reason"] = cast.rng.choice(REASONS)
    return drawn


def _elsewhere(cast: Cast, old: Row) -> JsonObject:
    while True:
        address = make_address(cast.rng)
        if address["zip"] != old["zip"]:
            return address


def draw_new_address(cast: Cast, who: Member) -> Drawn:
    """A pending order and an address elsewhere."""
    drawn = _draw(cast, who, "pending")
    drawn.slots["address"] = _elsewhere(cast, drawn.rows["order"]["address"])
    return drawn


def draw_own_address(cast: Cast, who: Member) -> Drawn:
    """An address elsewhere."""
    return Drawn({"address": _elsewhere(cast, who.row["address"])})


def draw_new_payment(cast: Cast, who: Member) -> Drawn:
    """A pending order and another payment method."""
    old, new = cast.rng.sample(sorted(who.row["payment_methods"]), 2)
    drawn = _draw(cast, who, "pending", method=old)
    drawn.slots["payment"] = new
    return drawn


def _draw_swap(cast: Cast, who: Member, status: Status) -> Drawn:
    """An item of an order, and another variant of its product."""
    drawn = _draw(cast, who, status, variants=6)
    item = drawn.slots["items"][0]
    drawn.slots["variant"] = [cast.rng.choice([key for key in _in_stock(drawn.rows["product"]) if key != item])]
    drawn.slots["payment"] = cast.rng.choice(sorted(who.row["payment_methods"]))
    return drawn


draw_change, draw_exchange = partial(_draw_swap, status="pending"), partial(_draw_swap, status="delivered")


def draw_return(cast: Cast, who: Member) -> Drawn:
    """An item of a delivered order that was not paid with a gift card, and where the money came from."""
    methods = who.row["payment_methods"]
    paid = cast.rng.choice([key for key in sorted(methods) if not is_gift_card(methods[key])])
    drawn = _draw(cast, who, "delivered", method=paid)
    drawn.slots["payment"] = paid
    return drawn


def draw_gift_card(cast: Cast, who: Member) -> Drawn:
    """A gift card."""
    _card(cast, who)
    return Drawn({})


def draw_product(cast: Cast, who: Member) -> Drawn:
    """A product of many variants."""
    product = _product(cast, cast.rng.randrange(7, 10))
    return Drawn({"product": product["name"]}, {"product": product})


def draw_version(cast: Cast, who: Member) -> Drawn:
    """A variant."""
    drawn = draw_product(cast, who)
    drawn.slots["version"] = cast.rng.choice(sorted(drawn.rows["product"]["variants"]))
    return drawn


def _card(cast: Cast, who: Member) -> JsonObject:
    """The customer's gift card, a new one if there is none."""
    methods: dict[str, JsonObject] = who.row["payment_methods"]
    for row in methods.values():
        if is_gift_card(row):
            return row
    new = make_payment_method(cast.rng, "gift_card", cast.taken, balance=cast.rng.randrange(90_000, 200_000) / 100)
    methods[new["id"]] = new
    return new


def _relist(row: JsonObject) -> None:
    """Bring payment and parcel in line with an order's items."""
    row["payment_history"][0]["amount"] = price_of(row)
    for parcel in row["fulfillments"]:
        parcel["item_ids"] = [line["item_id"] for line in row["items"]]


def friends_order(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The order is somebody else's."""
    row, friend = drawn.rows["order"], cast.join(new_customer(cast))
    who.row["orders"].remove(row["order_id"])
    friend.row["orders"].append(row["order_id"])
    row["user_id"], row["address"] = friend.key, dict(friend.row["address"])
    for payment in row["payment_history"]:
        payment["payment_method_id"] = next(iter(friend.row["payment_methods"]))
    drawn.rows["friend"] = friend.row


def friends_account(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The payment method is somebody else's."""
    methods = cast.join(new_customer(cast)).row["payment_methods"]
    drawn.slots["payment"] = next(key for key in methods if methods[key]["source"] == "paypal")


def _with_status(cast: Cast, drawn: Drawn, who: Member, status: str) -> None:
    row = drawn.rows["order"]
    row["status"] = status
    row["fulfillments"] = [make_parcel(cast.rng, cast.taken, row["items"])]


now_processed, now_delivered = partial(_with_status, status="processed"), partial(_with_status, status="delivered")


def paid_twice(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The payment has been changed before, to another method than the one that is wanted now."""
    row, methods = drawn.rows["order"], who.row["payment_methods"]
    first = row["payment_history"][0]
    method = next(key for key in methods if key != first["payment_method_id"])
    row["payment_history"] += [
        entry("payment", first["amount"], method),
        entry("refund", first["amount"], first["payment_method_id"]),
    ]


def pays_as_before(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The wanted payment method is the one that the order is paid with."""
    drawn.slots["payment"] = drawn.rows["order"]["payment_history"][0]["payment_method_id"]


def _pay_by_card(cast: Cast, drawn: Drawn, who: Member, amount: float) -> None:
    """A gift card of so much pays, if it has not paid for the order."""
    card = _card(cast, who)
    history = drawn.rows["order"]["payment_history"]
    if history[0]["payment_method_id"] == card["id"]:
        others = [key for key in who.row["payment_methods"] if key != card["id"]]
        history[0]["payment_method_id"] = others[0]
    card["balance"] = round(amount, 2)
    drawn.slots["payment"] = card["id"]


def _card_of_order(cast: Cast, drawn: Drawn, who: Member, short: float) -> None:
    _pay_by_card(cast, drawn, who, price_of(drawn.rows["order"]) - short)


card_just_covers_order, card_short_of_order = partial(_card_of_order, short=0), partial(_card_of_order, short=0.01)


def _card_of_difference(cast: Cast, drawn: Drawn, who: Member, short: float) -> None:
    """The new variant is dearer than the old one, and a gift card pays the difference."""
    product, row = drawn.rows["product"], drawn.rows["order"]
    variants = product["variants"]
    cheap, dear = sorted(cast.rng.sample(_in_stock(product), 2), key=lambda key: float(variants[key]["price"]))
    row["items"][0] = line_item(product, cheap)
    _relist(row)
    drawn.slots.update(items=[cheap], variant=[dear])
    _pay_by_card(cast, drawn, who, total([variants[dear]["price"], -variants[cheap]["price"], -short]))


card_just_covers, card_a_cent_short = partial(_card_of_difference, short=0), partial(_card_of_difference, short=0.01)


def wants_other_product(cast: Cast, drawn: Drawn, who: Member) -> None:
    """A variant of another product is wanted."""
    other = _product(cast)
    options = other["variants"][cast.rng.choice(_in_stock(other))]["options"]
    drawn.slots["variant"] = [(other["name"], options_text(options))]


def wants_what_is_gone(cast: Cast, drawn: Drawn, who: Member) -> None:
    """A variant is wanted that cannot be had."""
    variants = drawn.rows["product"]["variants"]
    drawn.slots["variant"] = [next(key for key, variant in variants.items() if not variant["available"])]


def wants_the_cheapest(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The cheapest other variant is wanted, whichever it is."""
    drawn.slots["variant"] = [CHEAPEST]


def several_items(cast: Cast, drawn: Drawn, who: Member) -> None:
    """Two items of the order go back."""
    row = drawn.rows["order"]
    product = _product(cast)
    row["items"].insert(1, line_item(product, cast.rng.choice(_in_stock(product))))
    _relist(row)
    drawn.slots["items"] = [line["item_id"] for line in row["items"][:2]]


def refund_elsewhere(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The refund is to go to another payment method that is no gift card."""
    methods, paid = who.row["payment_methods"], drawn.slots["payment"]
    drawn.slots["payment"] = next(key for key in methods if key != paid and not is_gift_card(methods[key]))


def refund_to_gift_card(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The refund is to go to a gift card."""
    drawn.slots["payment"] = _card(cast, who)["id"]
