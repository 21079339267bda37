"""What the expert understands of a customer's words, and of the rows that tools return."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from simia_gym.types import JsonObject

EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
ORDER = re.compile(r"#?W\d{7}\b")
PAYMENT_ID = re.compile(r"\b(?:credit_card|gift_card|paypal)_\d+\b")
_NAME = re.compile(r"(?:[Nn]ame is|I'm|I am) ([A-Z][\w'-]*) ([A-Z][\w'-]*)")
_ZIP = re.compile(r"\b[Zz]ip(?: code)?(?: is)? (\d{5})\b")
_LAST_FOUR = re.compile(r"ending (?:in|with) (\d{4})\b")
_TITLE = re.compile(r"\b(?:[A-Z][\w-]*[a-zA-Z] )+[A-Z][\w-]*[a-zA-Z]\b")
_ADDRESS = re.compile(
    r"(?:is|use|It's) (?P<address1>\d[^,]*), (?:(?P<address2>[^,]+), )?(?P<city>[^,\d]+), (?P<state>[A-Z]{2}) "
    r"(?P<zip>\d{5}), (?P<country>[A-Z][\w ]*?)\."
)
_ARTICLES = frozenset({"the", "a", "an"})
_WISHES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("transfer", r"\bsupplier\b|\binterview\b|\bapply for a job\b|\bspeak to a (?:human|person)\b|\bhuman agent\b"),
        ("discount", r"\bdiscount\b|\bvoucher\b|\bcompensation\b"),
        ("lookup_tracking", r"\btracking number\b"),
        ("lookup_balance", r"\bbalance\b|\bleft on my gift card\b"),
        ("lookup_refund", r"\b(?:was|been) refunded\b|\bmoney did i get back\b"),
        ("lookup_total", r"\btotal\b"),
        ("lookup_status", r"\bstatus\b"),
        ("lookup_options", r"\bhow many\b"),
        ("lookup_price", r"\bhow much does\b|\bprice of\b"),
        ("user_address", r"\bdefault address\b|\baddress of my account\b"),
        ("modify_address", r"(?<!email )\baddress\b"),
        ("modify_payment", r"\b(?:change|switch|different|another)\b.*\bpayment method\b|\banother payment method\b"),
        ("cancel", r"\bcancel\b"),
        ("return", r"\breturn\b|\bsend back\b|\bsend the refund\b"),
        ("swap", r"\bexchange\b|\bswap\b|\bdifferent version\b|\bchange an item\b"),
    )
)
_ACCEPTED_REASONS = (
    ("ordered by mistake", re.compile(r"\bmistake\b")),
    ("no longer needed", re.compile(r"\bno longer need|\bdon't need it anymore\b|\bis no longer needed\b")),
)


def wish_in(text: str) -> str | None:
    """Which kind of wish a text brings up, if any."""
    low = EMAIL.sub("", text.lower())
    return next((name for name, pattern in _WISHES if pattern.search(low)), None)


def name_in(text: str) -> tuple[str, str] | None:
    """First and last name."""
    found = _NAME.search(text)
    return None if found is None else (found[1], found[2])


def zip_in(text: str) -> str | None:
    """The postal code that somebody names as theirs."""
    found = _ZIP.search(text)
    return None if found is None else found[1]


def order_in(text: str) -> str | None:
    """An order id, with its leading ``#``."""
    found = ORDER.search(text)
    return None if found is None else "#" + found[0].lstrip("#")


def address_in(text: str) -> JsonObject | None:
    """A complete address, as tool arguments."""
    found = _ADDRESS.search(text)
    if found is None:
        return None
    parts = {name: value or "" for name, value in found.groupdict().items()}
    return {name: parts[name] for name in ("address1", "address2", "city", "state", "country", "zip")}


def reason_in(text: str) -> str | None:
    """A reason that policy accepts for a cancellation."""
    low = text.lower()
    return next((reason for reason, pattern in _ACCEPTED_REASONS if pattern.search(low)), None)


def payment_in(text: str, methods: Mapping[str, Any], original: str | None) -> str | None:
    """The id of the payment method that a text names.

    Args:
        text: What the customer said.
        methods: The payment methods of the profile.
        original: What the order was paid with.

    Returns:
        An id of the profile; an id that is not in it, if the text names one; ``None`` if no method is named.
    """
    given = PAYMENT_ID.search(text)
    if given is not None:
        return given[0]
    low = text.lower()
    four = _LAST_FOUR.search(low)
    for key, method in methods.items():
        source = method["source"]
        if source == "credit_card" and four is not None and method["last_four"] == four[1]:
            return key
        if (source == "paypal" and "paypal" in low) or (source == "gift_card" and "gift card" in low):
            return key
    return original if "original payment method" in low else None


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


def titles_in(text: str) -> list[str]:
    """Phrases of several capitalised words, such as product names."""
    return [found.strip() for found in _TITLE.findall(text)]


def options_in(text: str, product: Mapping[str, Any]) -> dict[str, str]:
    """The options of a product that a text names, as ``axis value``."""
    low = text.lower()
    found: dict[str, str] = {}
    for variant in product["variants"].values():
        for axis, value in variant["options"].items():
            if axis not in found and re.search(rf"\b{re.escape(f'{axis} {value}'.lower())}(?!\w|\.\d)", low):
                found[axis] = value
    return found


def variant_with(product: Mapping[str, Any], options: Mapping[str, str]) -> JsonObject | None:
    """The variant with exactly these options."""
    return next((dict(v) for v in product["variants"].values() if dict(v["options"]) == dict(options)), None)


def kept_apart(text: str) -> str:
    """A text without what the customer wants to keep: ``I'll keep the A. Only return the B`` gives the last part."""
    match = re.search(r"\bkeep\b.*?(?:\. |, so )(.*)", text)
    return match[1] if match is not None else text
