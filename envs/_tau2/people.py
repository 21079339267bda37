"""Invented customers: names, postal and email addresses, payment methods, identifiers."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from simia_gym.types import JsonObject

FIRST_NAMES: tuple[str, ...] = (
    "Adaeze", "Alba", "Anneke", "Arvid", "Beatriz", "Bram", "Caspian", "Celia", "Dario", "Delphine", "Eamon", "Edda",
    "Farida", "Felix", "Gideon", "Greta", "Hamza", "Henrike", "Ines", "Isak", "Jocelyn", "Joonas", "Kaito", "Katya",
    "Leila", "Linus", "Maren", "Matteo", "Nadia", "Nils", "Odette", "Orson", "Petra", "Quentin", "Rosalind", "Ruben",
    "Saskia", "Soren", "Tabitha", "Tomas", "Ursula", "Viggo", "Wanda", "Xenia", "Yannick", "Zora",
)  # fmt: skip

LAST_NAMES: tuple[str, ...] = (
    "Abernathy", "Adeyemi", "Baptiste", "Bergstrom", "Castellano", "Cho", "Dalgaard", "Duarte", "Eriksen", "Fontaine",
    "Grigoryan", "Haddad", "Hollis", "Ibarra", "Jansen", "Kaplan", "Kowalczyk", "Lindqvist", "Mbeki", "Montrose",
    "Nakagawa", "Novak", "Okonkwo", "Ortega", "Pemberton", "Petrov", "Quigley", "Rahman", "Rossetti", "Sandoval",
    "Sorensen", "Takeda", "Thackeray", "Uribe", "Valdez", "Vance", "Whitlock", "Yilmaz", "Zamora", "Zielinski",
)  # fmt: skip

_STREETS = (
    "Alder Row", "Bayberry Lane", "Chestnut Walk", "Copper Mill Road", "Dunmore Street", "Ferry Landing", "Foundry Way",
    "Garnet Avenue", "Heron Court", "Juniper Street", "Kiln Lane", "Larkspur Drive", "Mason Terrace", "Orchard Bend",
    "Quarry Hill Road", "Raven Street", "Saltbox Lane", "Tannery Road", "Vine Crescent", "Windmill Avenue",
)  # fmt: skip

# City, state, first three digits of its postal codes.
_CITIES = (
    ("Albuquerque", "NM", "871"), ("Baltimore", "MD", "212"), ("Boise", "ID", "837"), ("Buffalo", "NY", "142"),
    ("Burlington", "VT", "054"), ("Cincinnati", "OH", "452"), ("Des Moines", "IA", "503"), ("Fresno", "CA", "937"),
    ("Knoxville", "TN", "379"), ("Madison", "WI", "537"), ("Minneapolis", "MN", "554"), ("Omaha", "NE", "681"),
    ("Pittsburgh", "PA", "152"), ("Portland", "ME", "041"), ("Raleigh", "NC", "276"), ("Richmond", "VA", "232"),
    ("Sacramento", "CA", "958"), ("Spokane", "WA", "992"), ("Tucson", "AZ", "857"), ("Tulsa", "OK", "741"),
)  # fmt: skip

_BRANDS = ("visa", "mastercard")
SOURCES: tuple[str, ...] = ("credit_card", "gift_card", "paypal")
"""The kinds of payment method."""


def fresh_id(rng: random.Random, taken: set[str], *, prefix: str = "", digits: int = 10) -> str:
    """Draw an identifier that is not in use yet, and add it to those ``taken``; its first digit is never 0."""
    low, high = 10 ** (digits - 1), 10**digits
    while True:
        value = f"{prefix}{rng.randrange(low, high)}"
        if value not in taken:
            taken.add(value)
            return value


def make_address(rng: random.Random) -> JsonObject:
    """Draw a postal address in the United States; ``address2`` may be empty."""
    city, state, prefix = rng.choice(_CITIES)
    kind = rng.choice(("Apt", "Suite", "Unit", ""))
    return {
        "address1": f"{rng.randrange(11, 990)} {rng.choice(_STREETS)}",
        "address2": f"{kind} {rng.randrange(1, 400)}" if kind else "",
        "city": city,
        "country": "USA",
        "state": state,
        "zip": f"{prefix}{rng.randrange(1, 100):02d}",
    }


def address_text(address: Mapping[str, str]) -> str:
    """Write an address on one line."""
    parts = (address["address1"], address["address2"], address["city"], f"{address['state']} {address['zip']}")
    return ", ".join([part for part in parts if part] + [address["country"]])


def make_payment_method(
    rng: random.Random, source: str, taken: set[str], *, balance: float | None = None
) -> JsonObject:
    """Draw a payment method of a kind in `SOURCES`; a gift card's balance in dollars is drawn if not given."""
    method: JsonObject = {"source": source, "id": fresh_id(rng, taken, prefix=f"{source}_", digits=7)}
    if source == "credit_card":
        method["brand"] = rng.choice(_BRANDS)
        method["last_four"] = f"{rng.randrange(10_000):04d}"
    elif source == "gift_card":
        drawn = rng.randrange(2_000, 90_000) / 100
        method["balance"] = drawn if balance is None else round(float(balance), 2)
    return method


def make_user(
    rng: random.Random,
    taken: set[str],
    *,
    name: tuple[str, str],
    sources: Sequence[str] | None = None,
    gift_balance: float | None = None,
) -> JsonObject:
    """Draw a row of ``users`` without orders.

    Args:
        rng: Source of chance.
        taken: Identifiers in use; the new ones are added.
        name: First and last name.
        sources: Kinds of the payment methods, in order; one to three different ones if not given.
        gift_balance: Dollars on each gift card.
    """
    first, last = name
    identifier = fresh_id(rng, taken, prefix=f"{first}_{last}_".lower(), digits=4)
    address = make_address(rng)
    email = f"{first}.{last}{rng.randrange(100, 10_000)}@example.com".lower()
    if sources is None:
        sources = rng.sample(SOURCES, rng.choice((1, 2, 2, 3)))
    methods = [make_payment_method(rng, source, taken, balance=gift_balance) for source in sources]
    return {
        "user_id": identifier,
        "name": {"first_name": first, "last_name": last},
        "address": address,
        "email": email,
        "payment_methods": {method["id"]: method for method in methods},
        "orders": [],
    }
