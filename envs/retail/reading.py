"""How details are said and read whose words depend on facts: orders by what is in them, items, variants, accounts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from simia_gym.envs._tau2.customers import brand
from simia_gym.envs.retail.rules import (
    CHEAPEST,
    items,
    options_text,
    order,
    original,
    product,
    profile,
    swaps,
)
from simia_gym.envs.retail.values import wanted_product
from simia_gym.service import Case, Option, named_in
from simia_gym.types import JsonObject, Row

_NO_OWN_ORDER = "an order with such items"
_ORDER = re.compile(r"#?(W\d{7})\b")
_OF_AN_ORDER = re.compile(r"\b(?:order|ordered|bought|number|in it|in there)\b", re.IGNORECASE)
_AS_BEFORE = re.compile(
    r"\boriginal\b|\bas before\b"
    r"|\b(?:what|whatever|way|method|card|account)\b[^.?!]{0,12}\bI (?:have )?(?:paid|used)\b",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(r"\b(?:credit_card|gift_card|paypal)_\d+\b")
_TITLE = re.compile(r"\b(?:[A-Z][\w-]*[a-zA-Z] )+[A-Z][\w-]*[a-zA-Z]\b")
_ADDRESS = re.compile(r"\b\d+ [A-Z].*?\b[A-Z]{2} \d{5}\b")
_ARTICLES = frozenset({"the", "a", "an", "that", "this", "my", "just"})
_COMMON = frozenset({"yes", "no", "one", "two", "none", "long", "left", "right", "bare"})
"""Option values that occur in any conversation and so prove nothing about a proposal."""


def names_in(text: str, names: Iterable[str]) -> list[str]:
    """Those of some product names that a text contains; ``Iron Skillet`` does not stand in ``Alder Iron Skillet``."""
    found = []
    for name in sorted(set(names), key=len, reverse=True):
        for match in re.finditer(rf"(\S+ )?{re.escape(name)}\b", text, re.IGNORECASE):
            before = (match[1] or "").strip()
            if not before[:1].isupper() or before.lower() in _ARTICLES or not before.isalpha():
                found.append(name)
                break
    return found


def order_described(text: str, case: Case) -> str | None:
    """The order that a text describes by a product in it; a description that fits none is of somebody else's order."""
    number = _ORDER.search(text)
    if number is not None:
        return f"#{number[1]}"
    if not _TITLE.search(_ADDRESS.sub("", text)) or not _OF_AN_ORDER.search(text):
        return None
    for key in profile(case)["orders"]:
        row = case.read("get_order_details", order_id=key)
        if row and names_in(text, [line["name"] for line in row["items"]]):
            return str(key)
    return _NO_OWN_ORDER


def items_of_order(case: Case) -> dict[str, Option]:
    """The items of the order, by their products' names."""
    return {
        line["item_id"]: Option((line["name"],), (line["name"], line["item_id"], line["product_id"]))
        for line in order(case)["items"]
    }


def items_named(text: str, case: Case) -> list[str] | None:
    """The items of the order that a text names; the only one there is goes without saying."""
    lines = order(case)["items"]
    if len(lines) == 1:
        return [lines[0]["item_id"]]
    names = names_in(text, [line["name"] for line in lines])
    return [line["item_id"] for line in lines if line["name"] in names] or None


def _differing(line: Row, variant: Row) -> dict[str, str]:
    """The options of a variant in which it differs from an item."""
    return {axis: value for axis, value in variant["options"].items() if line["options"].get(axis) != value}


def variants_of_items(case: Case) -> dict[Any, Option]:
    """The variants of each item's product, by the options in which they differ from it, and the cheapest one."""
    found: dict[Any, Option] = {}
    for line in items(case):
        variants = product(case, line["product_id"])["variants"]
        for key, variant in variants.items():
            if key == line["item_id"]:
                continue
            options = options_text(_differing(line, variant) or variant["options"])
            same = f"the same one, but with {options}"
            found[key] = Option(
                (f"the one with {options}, and the rest as it is", same, f"it with {options}, otherwise the same")
            )
        found[CHEAPEST] = Option(
            ("the cheapest one that is in stock", "whichever is the cheapest one you have in stock")
        )
    return found


def other_product(wanted: Any) -> str:
    """What is wanted instead that is no variant of the product: another product with its options."""
    return f"the {wanted[0]} with {wanted[1]} instead" if isinstance(wanted, tuple) else str(wanted)


def variants_named(text: str, case: Case) -> list[Any] | None:
    """The variant that a text describes, or the other product that it names."""
    lines = items(case)
    names = [line["name"] for line in lines]
    if any(title for title in _TITLE.findall(text) if not names_in(title, names)):
        types = case.read("list_all_product_types") or {}
        others = names_in(text, [name for name in types if name not in names])
        if others:
            return [(others[0], text)]
    if CHEAPEST in text.lower():
        return [CHEAPEST] * len(lines)
    for line in lines[:1]:
        one = product(case, line["product_id"])
        named = options_in(text, one)
        options = {**line["options"], **named}
        variant = next((key for key, row in one["variants"].items() if dict(row["options"]) == options), None)
        if named:
            return [variant or (line["name"], options_text(options))]
    return None


def options_in(text: str, one: Mapping[str, Any]) -> dict[str, str]:
    """The options of a product that a text names, as ``axis value``."""
    low = text.lower()
    found: dict[str, str] = {}
    for variant in one["variants"].values():
        for axis, value in variant["options"].items():
            if axis not in found and re.search(rf"\b{re.escape(f'{axis} {value}'.lower())}(?!\w|\.\d)", low):
                found[axis] = value
    return found


def variants_expected(case: Case, value: list[Any]) -> list[JsonObject]:
    """What a proposal may say about the new variants, option by option."""
    found: list[JsonObject] = []
    for line, wanted, new in swaps(case):
        variants = product(case, line["product_id"])["variants"]
        if new is None:
            name = wanted[0] if isinstance(wanted, tuple) else wanted
            found.append({"any": [name], "avoid": [line["name"]]})
            continue
        options = _differing(line, new)
        telling = {axis: text for axis, text in options.items() if _telling(text)} if wanted != CHEAPEST else {}
        for axis, text in telling.items():
            others = {row["options"][axis] for row in variants.values()} - {line["options"].get(axis), text}
            found.append({"any": [text, new["item_id"]], "avoid": sorted(filter(_telling, others))})
        if not telling:
            wrong = [key for key in variants if key not in (line["item_id"], new["item_id"])]
            ways = [new["item_id"], f"{new['price']:.2f}", *options.values()]
            found.append({"any": ways, "avoid": wrong if wanted == CHEAPEST else []})
    return found


def _telling(value: str) -> bool:
    return len(value) > 2 and not value.isdigit() and value not in _COMMON


def methods_of_customer(case: Case) -> dict[str, Option]:
    """The payment methods of the profile, and the original one by this name."""
    first, delivered = original(case), order(case)["status"] == "delivered"
    found = {}
    for key, row in profile(case)["payment_methods"].items():
        if row["source"] == "credit_card":
            four = row["last_four"]
            say = [f"my {brand(row)} ending in {four}", f"the {brand(row)} card ending in {four}"]
            forms = [key, "credit card", row["brand"], four]
        else:
            name = "PayPal" if row["source"] == "paypal" else "gift card"
            say = ["my PayPal account", "PayPal"] if name == "PayPal" else ["my gift card", "the gift card"]
            forms = [key, name.lower()]
        if key == first and delivered:
            say.append("the original payment method")
        found[key] = Option(tuple(say), (*forms, *(["original"] if key == first else [])))
    return found


def method_named(text: str, case: Case) -> str | None:
    """The payment method that a text names, of the customer or of somebody else."""
    given = _ACCOUNT.search(text)
    if given is not None:
        return given[0]
    forms = {key: option.forms for key, option in methods_of_customer(case).items()}
    named = named_in(text.replace("giftcard", "gift card"), forms)
    if not named and _AS_BEFORE.search(text):
        return original(case)
    return named[0] if named else None


def address_expected(case: Case, value: Mapping[str, str]) -> list[JsonObject]:
    """What a proposal may say about the new address."""
    old = order(case)["address"] if "order" in case.known else profile(case)["address"]
    right = [value["zip"], value["address1"].lower()]
    return [{"any": right, "avoid": [old["zip"], old["address1"].lower()]}]


def reason_expected(case: Case, value: str) -> list[JsonObject]:
    """A proposal names the customer's reason; who has none that counts is content with one that does."""
    forms = {"no longer needed": ["no longer needed", "no longer need"], "ordered by mistake": ["mistake"]}
    every = [form for several in forms.values() for form in several]
    right = forms.get(value, every)
    return [{"any": right, "avoid": [form for form in every if form not in right]}]


def product_named(text: str, case: Case) -> str | None:
    """The product that a text names."""
    names = names_in(text, case.read("list_all_product_types") or {})
    return names[0] if names else None


def versions_of_product(case: Case) -> dict[str, Option]:
    """The variants of the product that the customer names, by all of their options."""
    variants = wanted_product(case)["variants"]
    return {key: Option((options_text(variant["options"]),)) for key, variant in variants.items()}


def version_named(text: str, case: Case) -> str | None:
    """The variant that a text describes by all of its options."""
    one = wanted_product(case)
    options = options_in(text, one)
    return next((key for key, row in one["variants"].items() if dict(row["options"]) == options), None)
