"""The expert's rules: for each kind of wish, what comes next, and what policy says about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from simia_gym.envs.retail import expert_reading as read
from simia_gym.envs.retail.expert_case_file import CaseFile, Intent, original_method, paid_total
from simia_gym.envs.retail.expert_talk import (
    Voice,
    dollars,
    method_name,
    options_text,
    when_refunded,
)
from simia_gym.service.people import address_text
from simia_gym.types import JsonObject

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """What the expert does next.

    Attributes:
        action: Words for the customer, or a tool call.
        ask: Questions that the words ask.
        proposal: The call that the words propose.
        close: Whether the wish is settled with it.
        why: Why it is refused, if it is.
    """

    action: str | JsonObject
    ask: tuple[str, ...] = ()
    proposal: JsonObject | None = None
    close: bool = False
    why: str = ""


@dataclass(frozen=True)
class _Case:
    """A wish with everything needed to decide about it."""

    intent: Intent
    case_file: CaseFile
    voice: Voice
    strict: bool

    def minds(self, breach: bool) -> bool:
        """Whether a breach of policy is a reason to say no."""
        return breach and self.strict

    def method_name(self, method_id: str) -> str:
        """A payment method in words; its id where the profile does not have it."""
        method = self.case_file.methods.get(method_id)
        return f"account {method_id}" if method is None else method_name(method)

    def when(self, method_id: str) -> str:
        """How long a refund to a payment method takes."""
        method = self.case_file.methods.get(method_id)
        return "within 5 to 7 business days" if method is None else when_refunded(method)

    def ask(self, question: str, line: str, **values: Any) -> Step:
        return Step(self.voice.say(line, **values), ask=(question,))

    def refuse(self, why: str) -> Step:
        return Step(self.voice.say("sorry", why=why), close=True, why=why)

    def tell(self, text: str) -> Step:
        return Step(f"{text} {self.voice.say('else')}", close=True)

    def propose(self, text: str, name: str, *, once: bool = False, **arguments: Any) -> Step:
        parts = [text, *([self.voice.say("once")] if once else []), self.voice.say("go")]
        return Step(" ".join(parts), proposal=_call(name, **arguments))


def next_step(intent: Intent, case_file: CaseFile, voice: Voice, *, strict: bool = True) -> Step:
    """Decide what comes next for a wish; unless ``strict``, whatever is asked for is done, policy or not."""
    case = _Case(intent, case_file, voice, strict)
    if intent.why:
        return case.refuse(intent.why)
    if intent.state == "written":
        return _report(case)
    if intent.proposal is not None:
        return Step(intent.proposal) if "yes" in intent.said else Step(voice.say("go"), proposal=intent.proposal)
    return _RULES[intent.kind](case)


def _call(name: str, **arguments: Any) -> JsonObject:
    return {"name": name, "arguments": arguments}


def _order(case: _Case) -> JsonObject | Step:
    """The order that the wish is about, or the step that leads to it."""
    intent, case_file = case.intent, case.case_file
    if intent.order_id is None:
        intent.order_id = read.order_in(intent.text)
    if intent.order_id is None:
        described = intent.said.get("order")
        if described is None:
            return case.ask("order", "ask_order")
        intent.order_id = case_file.order_with(described)
        if intent.order_id is None:
            unread = case_file.unread_order()
            if unread is not None:
                return Step(_call("get_order_details", order_id=unread))
            del intent.said["order"]
            return case.ask("order", "ask_order")
    key = intent.order_id
    if case.minds(case_file.profile is None or key not in case_file.profile["orders"]):
        return case.refuse(f"I cannot help with order {key}, because it is not an order of your account.")
    return case_file.orders.get(key) or Step(_call("get_order_details", order_id=key))


def _with_order(rule: Callable[[_Case, JsonObject], Step]) -> Callable[[_Case], Step]:
    def apply(case: _Case) -> Step:
        order = _order(case)
        return order if isinstance(order, Step) else rule(case, order)

    return apply


def _status(order: Mapping[str, Any]) -> str:
    if order["status"] == "pending (item modified)":
        return "its items have already been changed once"
    return f"its status is {order['status']}"


def _cancel(case: _Case, order: JsonObject) -> Step:
    key = order["order_id"]
    if case.minds(order["status"] != "pending"):
        return case.refuse(f"I cannot cancel order {key}: only pending orders can be, and {_status(order)}.")
    if "reason" not in case.intent.said:
        return case.ask("reason", "ask_reason")
    reason = read.reason_in(case.intent.said["reason"])
    if case.minds(reason is None):
        return case.refuse(
            f"I cannot cancel order {key} for that reason. An order can only be cancelled if it is no longer needed, "
            "or was ordered by mistake."
        )
    reason = reason or "no longer needed"
    method = original_method(order)
    text = (
        f"I will cancel the whole order {key}, with the reason '{reason}'. {dollars(paid_total(order))} will be "
        f"refunded to your {case.method_name(method)} {case.when(method)}."
    )
    return case.propose(text, "cancel_pending_order", order_id=key, reason=reason)


def _told(case: _Case, question: str, line: str, understand: Callable[[str], T | None], **values: Any) -> T | Step:
    """What the customer answered to a question, or the step that asks it, once more if the answer made no sense."""
    said = case.intent.said.get(question)
    understood = None if said is None else understand(said)
    if understood is None:
        case.intent.said.pop(question, None)
        return case.ask(question, line, **values)
    return understood


def _address(case: _Case) -> JsonObject | Step:
    return _told(case, "address", "ask_address", read.address_in)


def _modify_address(case: _Case, order: JsonObject) -> Step:
    key = order["order_id"]
    if case.minds("pending" not in order["status"]):
        return case.refuse(f"I cannot change the address of order {key}: {_status(order)}.")
    address = _address(case)
    if isinstance(address, Step):
        return address
    text = f"I will change the shipping address of order {key} to {address_text(address)}."
    return case.propose(text, "modify_pending_order_address", order_id=key, **address)


def _user_address(case: _Case) -> Step:
    address = _address(case)
    if isinstance(address, Step):
        return address
    assert case.case_file.profile is not None
    text = f"I will change the default address of your account to {address_text(address)}. Existing orders keep theirs."
    return case.propose(text, "modify_user_address", user_id=case.case_file.profile["user_id"], **address)


def _method(case: _Case, order: JsonObject, line: str) -> str | Step:
    """The payment method that the customer chose."""
    methods, original = case.case_file.methods, original_method(order)
    return _told(case, "payment", line, lambda said: read.payment_in(said, methods, original))


def _covers(case: _Case, method: str, amount: float) -> bool:
    return float(case.case_file.methods.get(method, {}).get("balance", amount)) >= amount


def _modify_payment(case: _Case, order: JsonObject) -> Step:
    key, amount = order["order_id"], paid_total(order)
    if case.minds(order["status"] != "pending" or len(order["payment_history"]) != 1):
        return case.refuse(f"I cannot change the payment of order {key}: {_status(order)}.")
    chosen = _method(case, order, "ask_new_payment")
    if isinstance(chosen, Step):
        return chosen
    if case.minds(chosen not in case.case_file.methods):
        return case.refuse("I cannot use a payment method that is not in your account.")
    name, old = case.method_name(chosen), original_method(order)
    if case.minds(chosen == old):
        return case.refuse(f"I cannot change the payment to your {name}, because the order is paid with it already.")
    if case.minds(not _covers(case, chosen, amount)):
        return case.refuse(f"I cannot use your {name} for this payment: its balance is below {dollars(amount)}.")
    text = (
        f"I will change the payment of order {key} to your {name}, which pays the total of {dollars(amount)}. Your "
        f"{case.method_name(old)} gets the same amount back {case.when(old)}."
    )
    return case.propose(text, "modify_pending_order_payment", order_id=key, payment_method_id=chosen)


def _items(case: _Case, order: JsonObject, verb: str) -> list[JsonObject] | Step:
    """The items of the order that the customer means."""

    def named(said: str) -> list[JsonObject] | None:
        names = read.names_in(said, [item["name"] for item in order["items"]])
        return [item for item in order["items"] if item["name"] in names] or None

    if "item" not in case.intent.said and len(order["items"]) == 1:
        return list(order["items"])
    return _told(case, "item", "ask_item", named, verb=verb)


def _return(case: _Case, order: JsonObject) -> Step:
    key = order["order_id"]
    if case.minds(order["status"] != "delivered"):
        return case.refuse(f"I cannot return anything of order {key}: it must be delivered, and {_status(order)}.")
    items = _items(case, order, "return")
    if isinstance(items, Step):
        return items
    chosen = _method(case, order, "ask_refund")
    if isinstance(chosen, Step):
        return chosen
    original = original_method(order)
    method = case.case_file.methods.get(chosen)
    if case.minds(method is None):
        return case.refuse("I cannot send the refund to somebody else: it must go to a payment method of your account.")
    if case.minds(chosen != original and method is not None and method["source"] != "gift_card"):
        return case.refuse(
            f"I cannot send the refund to your {case.method_name(chosen)}. It has to go to the original payment "
            f"method, your {case.method_name(original)}, or to a gift card."
        )
    amount = sum(round(item["price"] * 100) for item in items) / 100
    listed = " and ".join(f"the {item['name']} (item {item['item_id']}, {dollars(item['price'])})" for item in items)
    note = " (the original payment method)" if chosen == original else ""
    text = (
        f"I will request the return of {listed} from order {key}. The refund of {dollars(amount)} goes to your "
        f"{case.method_name(chosen)}{note} {case.when(chosen)} once the return has arrived."
    )
    item_ids = [item["item_id"] for item in items]
    arguments = {"order_id": key, "item_ids": item_ids, "payment_method_id": chosen}
    return case.propose(text, "return_delivered_order_items", once=True, **arguments)


def _swap(case: _Case, order: JsonObject) -> Step:
    key, status = order["order_id"], order["status"]
    if case.minds(status not in ("pending", "delivered")):
        return case.refuse(f"I cannot change or exchange items of order {key}: {_status(order)}.")
    items = _items(case, order, "exchange" if status == "delivered" else "change")
    if isinstance(items, Step):
        return items
    item = items[0]
    product = case.case_file.products.get(item["product_id"])
    if product is None:
        return Step(_call("get_product_details", product_id=item["product_id"]))
    if "variant" not in case.intent.said:
        return case.ask("variant", "ask_variant")
    variant = _variant(case, item, product)
    if isinstance(variant, Step):
        return variant
    chosen = _method(case, order, "ask_payment")
    if isinstance(chosen, Step):
        return chosen
    if case.minds(chosen not in case.case_file.methods):
        return case.refuse("I cannot use a payment method that is not in your account.")
    return _propose_swap(case, order, item, variant, chosen)


def _propose_swap(case: _Case, order: JsonObject, item: JsonObject, variant: JsonObject, method: str) -> Step:
    difference = (round(variant["price"] * 100) - round(item["price"] * 100)) / 100
    name = case.method_name(method)
    if case.minds(not _covers(case, method, difference)):
        return case.refuse(f"I cannot charge your {name}: its balance is below {dollars(difference)}.")
    delivered = order["status"] == "delivered"
    verb, tool = (
        ("exchange", "exchange_delivered_order_items") if delivered else ("change", "modify_pending_order_items")
    )
    goal = variant.get("name", "one")
    money = f"{dollars(difference)} will be charged to" if difference > 0 else f"{dollars(-difference)} goes back to"
    text = (
        f"I will {verb} the {item['name']} ({options_text(item['options'])}) in order {order['order_id']} for the "
        f"{goal} with {options_text(variant['options'])} (item {variant['item_id']}, {dollars(variant['price'])}). The "
        f"price difference of {money} your {name}."
    )
    arguments = {
        "order_id": order["order_id"],
        "item_ids": [item["item_id"]],
        "new_item_ids": [variant["item_id"]],
        "payment_method_id": method,
    }
    return case.propose(text, tool, once=True, **arguments)


def _variant(case: _Case, item: JsonObject, product: JsonObject) -> JsonObject | Step:
    """The variant that the customer wants instead of an item."""
    wanted = case.intent.said["variant"]
    titles = [title for title in read.titles_in(wanted) if item["name"].lower() not in title.lower()]
    if titles:
        if case.case_file.types is None:
            return Step(_call("list_all_product_types"))
        others = read.names_in(wanted, [name for name in case.case_file.types if name != item["name"]])
        if case.minds(bool(others)):
            return case.refuse(
                f"I cannot exchange the {item['name']} for a {others[0]}: an item can only be exchanged for another "
                "variant of the same product."
            )
        if others:
            return _foreign(case, wanted, others[0])
    if "cheapest" in wanted:
        stock = [v for v in product["variants"].values() if v["available"] and v["item_id"] != item["item_id"]]
        return dict(min(stock, key=lambda v: float(v["price"])))
    named = _told(case, "variant", "ask_variant", lambda said: read.options_in(said, product) or None)
    if isinstance(named, Step):
        return named
    variant = read.variant_with(product, {**item["options"], **named})
    if variant is None or case.minds(not variant["available"]):
        options = options_text({**item["options"], **named})
        return case.refuse(
            f"I cannot exchange it for that variant: the {item['name']} with {options} is not available."
        )
    return variant


def _foreign(case: _Case, wanted: str, name: str) -> JsonObject | Step:
    """A variant of another product, for those who do not mind."""
    key = (case.case_file.types or {})[name]
    product = case.case_file.products.get(key)
    if product is None:
        return Step(_call("get_product_details", product_id=key))
    named = read.options_in(wanted, product)
    variant = read.variant_with(product, named) or next(iter(product["variants"].values()))
    return {**variant, "name": name}


def _tracking(case: _Case, order: JsonObject) -> Step:
    numbers = [number for parcel in order["fulfillments"] for number in parcel["tracking_id"]]
    if not numbers:
        return case.tell(f"Order {order['order_id']} has not been shipped, so there is no tracking number yet.")
    return case.tell(f"The tracking number of order {order['order_id']} is {' and '.join(numbers)}.")


def _total(case: _Case, order: JsonObject) -> Step:
    return case.tell(f"The total of order {order['order_id']} was {dollars(paid_total(order))}.")


def _refund(case: _Case, order: JsonObject) -> Step:
    cents = sum(round(e["amount"] * 100) for e in order["payment_history"] if e["transaction_type"] == "refund")
    return case.tell(f"For order {order['order_id']}, {dollars(cents / 100)} was refunded.")


def _tell_status(case: _Case, order: JsonObject) -> Step:
    return case.tell(f"Order {order['order_id']} has the status: {order['status']}.")


def _balance(case: _Case) -> Step:
    cards = [method for method in case.case_file.methods.values() if method["source"] == "gift_card"]
    if not cards:
        return case.tell("There is no gift card in your account.")
    return case.tell(f"Your gift card has a balance of {dollars(cards[0]['balance'])}.")


def _product(case: _Case) -> JsonObject | Step:
    """The product that a question names."""
    if case.case_file.types is None:
        return Step(_call("list_all_product_types"))
    names = read.names_in(case.intent.text, case.case_file.types)
    if not names:
        return case.refuse("I cannot find a product of that name in the shop.")
    key = case.case_file.types[names[0]]
    return case.case_file.products.get(key) or Step(_call("get_product_details", product_id=key))


def _count(case: _Case) -> Step:
    product = _product(case)
    if isinstance(product, Step):
        return product
    n = sum(1 for variant in product["variants"].values() if variant["available"])
    return case.tell(f"There are {n} variants of the {product['name']} in stock right now.")


def _price(case: _Case) -> Step:
    product = _product(case)
    if isinstance(product, Step):
        return product
    variant = read.variant_with(product, read.options_in(case.intent.text, product))
    if variant is None:
        return case.refuse(f"I cannot find a {product['name']} with these options.")
    stock = "" if variant["available"] else " It is out of stock at the moment."
    return case.tell(
        f"The {product['name']} with {options_text(variant['options'])} costs {dollars(variant['price'])}.{stock}"
    )


def _discount(case: _Case) -> Step:
    if not case.strict:
        return case.tell("Of course, I have arranged that for you.")
    return case.refuse("I cannot give any discount, voucher or compensation; that is not something I may offer.")


def _transfer(case: _Case) -> Step:
    return Step(_call("transfer_to_human_agents", summary=case.intent.text.split("\n")[0]), close=True)


def _report(case: _Case) -> Step:
    """Tell the result of a write."""
    proposal = case.intent.proposal
    assert proposal is not None
    name, arguments = proposal["name"], proposal["arguments"]
    if name == "modify_user_address":
        return case.tell(f"Your default address is now {address_text(arguments)}.")
    key = arguments["order_id"]
    if not case.strict:
        return case.tell(f"All done, your wish about order {key} has been fulfilled.")
    order = case.case_file.orders[key]
    if name == "cancel_pending_order":
        method, amount = original_method(order), dollars(paid_total(order))
        return case.tell(
            f"Order {key} has been cancelled, and {amount} will be refunded to your {case.method_name(method)} "
            f"{case.when(method)}."
        )
    if name == "modify_pending_order_address":
        return case.tell(f"The shipping address of order {key} has been changed to {address_text(order['address'])}.")
    if name == "modify_pending_order_payment":
        chosen = method_name(case.case_file.methods[arguments["payment_method_id"]])
        return case.tell(f"The payment of order {key} has been changed to your {chosen}.")
    if name == "return_delivered_order_items":
        return case.tell(
            f"The return for order {key} has been requested. You will get an email on how to send it back."
        )
    if name == "exchange_delivered_order_items":
        return case.tell(
            f"The exchange for order {key} has been requested. You will get an email on how to send the item back."
        )
    return case.tell(f"The item of order {key} has been changed.")


_RULES: Mapping[str, Callable[[_Case], Step]] = {
    "cancel": _with_order(_cancel),
    "modify_address": _with_order(_modify_address),
    "modify_payment": _with_order(_modify_payment),
    "user_address": _user_address,
    "return": _with_order(_return),
    "swap": _with_order(_swap),
    "lookup_tracking": _with_order(_tracking),
    "lookup_total": _with_order(_total),
    "lookup_refund": _with_order(_refund),
    "lookup_status": _with_order(_tell_status),
    "lookup_balance": _balance,
    "lookup_options": _count,
    "lookup_price": _price,
    "discount": _discount,
    "transfer": _transfer,
}
