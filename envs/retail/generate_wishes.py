"""Wishes that policy grants: what the customer says and knows, what the ideal agent does, what it must tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simia_gym.envs.retail import generate_words as words
from simia_gym.envs.retail.generate_cast import Cast, in_stock, method_of
from simia_gym.envs.retail.orders import total
from simia_gym.service.people import address_text, make_address
from simia_gym.types import JsonObject

_SHORT = frozenset({"yes", "no", "one", "two", "none", "long", "left", "right", "bare"})
"""Option values that occur in any conversation and so prove nothing about a proposal."""


@dataclass(frozen=True)
class Wish:
    """One request of a script with everything that judges it.

    Attributes:
        request: The request, as the script has it.
        gold: Tool calls of the ideal agent that change the state, or that find the answer.
        criteria: Rubric items.
        about: The rows and ids it is about, for whoever makes a variation of it.
    """

    request: JsonObject
    gold: tuple[JsonObject, ...] = ()
    criteria: tuple[JsonObject, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)


def call(name: str, **arguments: Any) -> JsonObject:
    """A tool call as data."""
    return {"name": name, "arguments": arguments}


def told(texts: Sequence[str], what: str, *after: JsonObject | list[JsonObject], **more: Any) -> JsonObject:
    """The agent must tell the user one of these texts, after the calls that told it; a list of calls is a choice."""
    calls = [[_seen(item) for item in choice] if isinstance(choice, list) else _seen(choice) for choice in after]
    return {
        "id": "told",
        "kind": "communication",
        "weight": 1,
        "required": True,
        "check": {"program": "says", "any": list(texts), "after": calls, "most": 8, **more},
        "says": f"The agent tells the customer {what}.",
    }


def _seen(made: JsonObject) -> JsonObject:
    return {"tool": made["name"], "arguments": made["arguments"]}


def money(amount: float) -> str:
    """An amount as it is written."""
    return f"{amount:.2f}"


def order_part(cast: Cast, action: str, order: JsonObject, product: str, mode: str | None = None) -> JsonObject:
    """The part of a request that says which order it is about.

    The customer names the number at once, names it when asked, or does not know it and describes the order.
    """
    number = order["order_id"]
    mode = mode or cast.mode or cast.rng.choice(("said", "asked", "asked", "unknown"))
    say = list(words.ASKS[action])
    if mode == "said":
        say = [f"{a} {b}" for a, b in zip(say, words.fill(words.ORDER_SAID, order=number), strict=True)]
    line = words.ORDER_UNKNOWN if mode == "unknown" else words.ORDER_SAID
    values = [product] if mode == "unknown" else [number]
    return {
        "id": action,
        "say": say,
        "slots": {
            "order": {"say": words.fill(line, order=number, product=product), "values": values},
            "item": {"say": words.fill(words.IN_ORDER, product=product), "values": [product]},
        },
        "expect": [{"slot": "order", "any": [number], "token": "order"}],
    }


def cancel(cast: Cast, user: JsonObject) -> Wish:
    """Cancel a pending order for an accepted reason."""
    product = cast.product(4)
    order = cast.order(user, "pending", [(product, cast.rng.choice(in_stock(product)))], extra=cast.rng.choice((0, 1)))
    reason = cast.rng.choice(tuple(words.REASONS))
    request = order_part(cast, "cancel", order, product["name"])
    request["action"] = "cancel"
    request["slots"]["reason"] = {"say": list(words.REASONS[reason]), "values": [reason]}
    request["expect"].append(_reason_expected(reason))
    request["done"] = [{"tool": "cancel_pending_order"}]
    return Wish(request, (call("cancel_pending_order", order_id=order["order_id"], reason=reason),))


def _reason_expected(reason: str) -> JsonObject:
    mistake = reason == "ordered by mistake"
    right, wrong = ["mistake", "by mistake"], ["no longer needed", "no longer need"]
    return {"slot": "reason", "any": right if mistake else wrong, "avoid": wrong if mistake else right}


def modify_address(cast: Cast, user: JsonObject) -> Wish:
    """Ship a pending order to another address."""
    product = cast.product(4)
    order = cast.order(user, "pending", [(product, cast.rng.choice(in_stock(product)))], extra=cast.rng.choice((0, 1)))
    address = new_address(cast, order["address"])
    request = order_part(cast, "modify_address", order, product["name"])
    request["action"] = "modify_address"
    request["slots"]["address"] = address_slot(address)
    request["expect"].append(_address_expected(address, order["address"]))
    request["done"] = [{"tool": "modify_pending_order_address"}]
    return Wish(
        request, (call("modify_pending_order_address", order_id=order["order_id"], **address_arguments(address)),)
    )


def user_address(cast: Cast, user: JsonObject) -> Wish:
    """Change the default address of the account."""
    address = new_address(cast, user["address"])
    request: JsonObject = {
        "id": "user_address",
        "say": list(words.ASKS["user_address"]),
        "action": "user_address",
        "slots": {"address": address_slot(address)},
        "expect": [_address_expected(address, user["address"])],
        "done": [{"tool": "modify_user_address"}],
    }
    return Wish(request, (call("modify_user_address", user_id=user["user_id"], **address_arguments(address)),))


def new_address(cast: Cast, old: Mapping[str, str]) -> JsonObject:
    """An address elsewhere."""
    while True:
        address = make_address(cast.rng)
        if address["zip"] != old["zip"]:
            return address


def address_slot(address: Mapping[str, str]) -> JsonObject:
    """What the customer says when asked for the new address."""
    spoken = address_text(address)
    return {"say": words.fill(words.ADDRESS, address=spoken), "values": [address["address1"], address["zip"]]}


def address_arguments(address: Mapping[str, str]) -> JsonObject:
    """An address as tool arguments."""
    return {name: address[name] for name in ("address1", "address2", "city", "state", "country", "zip")}


def _address_expected(address: Mapping[str, str], old: Mapping[str, str]) -> JsonObject:
    return {
        "slot": "address",
        "any": [address["zip"], address["address1"].lower()],
        "avoid": [old["zip"], old["address1"].lower()],
    }


def modify_payment(cast: Cast, user: JsonObject) -> Wish:
    """Pay for a pending order with something else."""
    product = cast.product(4)
    old, new = cast.rng.sample(sorted(user["payment_methods"]), 2)
    order = cast.order(user, "pending", [(product, cast.rng.choice(in_stock(product)))], method=old)
    request = order_part(cast, "modify_payment", order, product["name"])
    request["action"] = "modify_payment"
    request["slots"]["payment"] = payment_slot(user, new)
    request["expect"].append(payment_expected(user, new, original=None))
    request["done"] = [{"tool": "modify_pending_order_payment"}]
    gold = call("modify_pending_order_payment", order_id=order["order_id"], payment_method_id=new)
    return Wish(request, (gold,))


def payment_slot(user: JsonObject, method_id: str, *, original: bool = False) -> JsonObject:
    """What the customer says when asked for the payment method; ``original`` for one that only says that."""
    method = user["payment_methods"][method_id]
    if original:
        return {"say": list(words.ORIGINAL), "values": ["original payment method"]}
    source = method["source"]
    value = str(method["last_four"]) if source == "credit_card" else {"paypal": "PayPal"}.get(source, "gift card")
    return {"say": words.pay_lines(method), "values": [value]}


def payment_expected(user: JsonObject, method_id: str, *, original: str | None) -> JsonObject:
    """What a proposal may say about the payment method; ``original`` is the one that the order was paid with."""
    right = words.pay_words(user["payment_methods"][method_id])
    if original == method_id:
        right.append("original")
    wrong = [
        word
        for key, method in user["payment_methods"].items()
        if key != method_id
        for word in words.pay_words(method)
        if word not in right
    ]
    if original is not None and original != method_id:
        wrong.append("original")
    return {"slot": "payment", "any": right, "avoid": wrong, "token": "payment"}


def swap(cast: Cast, user: JsonObject, *, delivered: bool, style: str = "options") -> Wish:
    """Swap one item for another variant: exchange it if delivered, otherwise change a pending order.

    The customer describes the new variant by its ``options``, or as the ``cheapest``.
    """
    product = cast.product(6)
    method = cast.rng.choice(sorted(user["payment_methods"]))
    old, new = cast.rng.sample(in_stock(product), 2)
    if style == "cheapest":
        stock = sorted(in_stock(product), key=lambda key: float(product["variants"][key]["price"]))
        new = stock[0]
        old = cast.rng.choice([key for key in product["variants"] if key != new])
    order = cast.order(user, "delivered" if delivered else "pending", [(product, old)], extra=cast.rng.choice((0, 1)))
    action = "exchange" if delivered else "modify_items"
    request = order_part(cast, action, order, product["name"])
    request["action"] = action
    request["slots"]["item"] = {"say": words.fill(words.ITEM, product=product["name"]), "values": [product["name"]]}
    request["expect"].append({"slot": "item", "any": [product["name"], old, product["product_id"]]})
    if style == "cheapest":
        request["slots"]["variant"] = {"say": list(words.CHEAPEST), "values": ["cheapest"]}
        wrong = [key for key in product["variants"] if key not in (old, new)]
        request["expect"].append({"slot": "variant", "any": _named(product, old, new), "avoid": wrong})
    else:
        request["slots"]["variant"] = variant_slot(product, old, new)
        request["expect"].extend(variant_expected(product, old, new))
    original = order["payment_history"][0]["payment_method_id"]
    request["slots"]["payment"] = payment_slot(user, method)
    request["expect"].append(payment_expected(user, method, original=original))
    request["done"] = [{"tool": swap_tool(delivered)}]
    gold = swap_call(delivered, order, old, new, method)
    return Wish(request, (gold,), about={"product": product, "order": order, "old": old, "new": new, "method": method})


def swap_tool(delivered: bool) -> str:
    """The tool that swaps items of delivered, or of pending, orders."""
    return "exchange_delivered_order_items" if delivered else "modify_pending_order_items"


def swap_call(delivered: bool, order: JsonObject, old: str, new: str, method: str) -> JsonObject:
    """The call that swaps one item."""
    return call(
        swap_tool(delivered),
        order_id=order["order_id"],
        item_ids=[old],
        new_item_ids=[new],
        payment_method_id=method,
    )


def differing(product: JsonObject, old: str, new: str) -> list[str]:
    """Option names in which two variants differ."""
    before, after = product["variants"][old]["options"], product["variants"][new]["options"]
    return [axis for axis in after if after[axis] != before[axis]]


def variant_slot(product: JsonObject, old: str, new: str) -> JsonObject:
    """What the customer says when asked for the new variant: the options in which it differs from the old one."""
    options = product["variants"][new]["options"]
    axes = differing(product, old, new)
    say = words.fill(words.VARIANT, options=words.spoken_options(options, axes))
    return {"say": say, "values": [options[axis] for axis in axes if _telling(options[axis])]}


def variant_expected(product: JsonObject, old: str, new: str) -> list[JsonObject]:
    """What a proposal may say about the new variant, option by option."""
    found = []
    before, after = product["variants"][old]["options"], product["variants"][new]["options"]
    for axis in differing(product, old, new):
        others = {variant["options"][axis] for variant in product["variants"].values()} - {before[axis], after[axis]}
        if _telling(after[axis]):
            wrong = [value for value in sorted(others) if _telling(value)]
            found.append({"slot": "variant", "any": [after[axis], new], "avoid": wrong})
    return found or [{"slot": "variant", "any": _named(product, old, new)}]


def _named(product: JsonObject, old: str, new: str) -> list[str]:
    """Ways to name a variant: by its id, its price, or any option in which it differs."""
    variant = product["variants"][new]
    options = [variant["options"][axis] for axis in differing(product, old, new)]
    return [new, money(variant["price"]), *options]


def _telling(value: str) -> bool:
    return len(value) > 2 and not value.isdigit() and value not in _SHORT


def send_back(cast: Cast, user: JsonObject, *, n_items: int = 1, original: bool | None = None) -> Wish:
    """Return items of a delivered order, with the refund to the original payment method or to a gift card.

    Which of the two is drawn, unless ``original`` says it.
    """
    products = [cast.product(4) for _ in range(n_items)]
    lines = [(product, cast.rng.choice(in_stock(product))) for product in products]
    gift = next((k for k, m in user["payment_methods"].items() if m["source"] == "gift_card"), None)
    paid = cast.rng.choice([key for key in sorted(user["payment_methods"]) if key != gift])
    order = cast.order(user, "delivered", lines, method=paid, extra=cast.rng.choice((0, 1)))
    if original is None:
        original = gift is None or cast.rng.random() < 0.5
    method = paid if original or gift is None else gift
    names = words.spoken_products([product["name"] for product in products])
    request = order_part(cast, "return", order, products[0]["name"])
    request["action"] = "return"
    request["slots"]["item"] = {
        "say": words.fill(words.ITEM, product=names),
        "values": [product["name"] for product in products],
    }
    for product, item_id in lines:
        wrong = [item["name"] for item in order["items"] if item["name"] != product["name"]]
        right = [product["name"], item_id, product["product_id"]]
        request["expect"].append({"slot": "item", "any": right, "avoid": wrong, "token": "item"})
    spoken_original = original and cast.rng.random() < 0.5
    request["slots"]["payment"] = payment_slot(user, method, original=spoken_original)
    request["expect"].append(payment_expected(user, method, original=paid))
    request["done"] = [{"tool": "return_delivered_order_items"}]
    items = [item_id for _, item_id in lines]
    gold = call("return_delivered_order_items", order_id=order["order_id"], item_ids=items, payment_method_id=method)
    about = {"order": order, "products": products, "items": items, "method": method, "paid": paid, "gift": gift}
    return Wish(request, (gold,), about=about)


def lookup(cast: Cast, user: JsonObject, what: str) -> Wish:
    """A question about ``tracking``, ``total``, ``refund``, ``status``, ``balance``, ``price`` or ``options``."""
    if what in ("price", "options"):
        return _product_question(cast, what)
    if what == "balance":
        balance = user["payment_methods"][method_of(user, "gift_card")]["balance"]
        request: JsonObject = {"id": "lookup_balance", "say": list(words.ASKS["lookup_balance"]), "answer": "money"}
        request["told"] = [_amounts(balance)]
        gold = call("get_user_details", user_id=user["user_id"])
        return Wish(request, (gold,), (told([money(balance)], "what is left on the gift card", gold),))
    product = cast.product(4)
    lines = [(product, cast.rng.choice(in_stock(product)))]
    status = {"tracking": "delivered", "refund": "cancelled"}.get(what) or cast.rng.choice(("processed", "pending"))
    if what == "total":
        status = "delivered"
    order = cast.order(user, status, lines, extra=1 if what == "total" else 0)  # type: ignore[arg-type]
    action = f"lookup_{what}"
    request = order_part(cast, action, order, product["name"])
    del request["expect"]
    gold = call("get_order_details", order_id=order["order_id"])
    if what == "tracking":
        number = order["fulfillments"][0]["tracking_id"][0]
        request["told"], request["answer"] = [[number]], "tracking"
        return Wish(request, (gold,), (told([number], "the tracking number", gold),))
    if what == "status":
        request["told"], request["answer"] = [[order["status"]]], "status"
        rivals = [name for name in ("pending", "processed", "delivered", "cancelled") if name != order["status"]]
        criterion = told([order["status"]], "the status of the order", gold, rivals=rivals, most=1)
        return Wish(request, (gold,), (criterion,))
    amount = total([item["price"] for item in order["items"]])
    request["told"], request["answer"] = [_amounts(amount)], "money"
    noun = "how much was refunded" if what == "refund" else "the total of the order"
    return Wish(request, (gold,), (told([money(amount)], noun, gold),), about={"order": order, "product": product})


def _product_question(cast: Cast, what: str) -> Wish:
    product = cast.product(cast.rng.randrange(7, 10))
    gold = call("get_product_details", product_id=product["product_id"])
    if what == "options":
        count = len(in_stock(product))
        request: JsonObject = {
            "id": "lookup_options",
            "say": words.fill(words.ASKS["lookup_options"], product=product["name"]),
            "answer": "count",
            "told": [[str(count), _NUMBERS[count]]],
        }
        rivals = [name for n in range(11) if n != count for name in (str(n), _NUMBERS[n])]
        what = "how many variants are in stock"
        return Wish(request, (gold,), (told([str(count), _NUMBERS[count]], what, gold, rivals=rivals, most=5),))
    item_id = cast.rng.choice(sorted(product["variants"]))
    variant = product["variants"][item_id]
    options = words.spoken_options(variant["options"])
    request = {
        "id": "lookup_price",
        "say": words.fill(words.ASKS["lookup_price"], product=product["name"], options=options),
        "answer": "money",
        "told": [_amounts(variant["price"])],
    }
    ways = [gold, call("get_item_details", item_id=item_id)]
    return Wish(request, (gold,), (told([money(variant["price"])], "the price of that variant", ways),))


def _amounts(amount: float) -> list[str]:
    """The ways in which an amount may be written."""
    written = money(amount)
    return list(dict.fromkeys((written, written.rstrip("0").rstrip("."))))


_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

GRANTED: Mapping[str, Callable[[Cast, JsonObject], Wish]] = {
    "cancel": cancel,
    "modify_items": lambda cast, user: swap(cast, user, delivered=False),
    "modify_address": modify_address,
    "modify_payment": modify_payment,
    "exchange": lambda cast, user: swap(cast, user, delivered=True),
    "exchange_cheapest": lambda cast, user: swap(cast, user, delivered=True, style="cheapest"),
    "return": send_back,
    "return_several": lambda cast, user: send_back(cast, user, n_items=2),
    "user_address": user_address,
    "lookup_tracking": lambda cast, user: lookup(cast, user, "tracking"),
    "lookup_total": lambda cast, user: lookup(cast, user, "total"),
    "lookup_refund": lambda cast, user: lookup(cast, user, "refund"),
    "lookup_status": lambda cast, user: lookup(cast, user, "status"),
    "lookup_balance": lambda cast, user: lookup(cast, user, "balance"),
    "lookup_price": lambda cast, user: lookup(cast, user, "price"),
    "lookup_options": lambda cast, user: lookup(cast, user, "options"),
}
"""Wishes that policy grants, by name."""
