"""How details are said and read whose words depend on facts: reservations by their route, dates, payment methods."""

from __future__ import annotations

import re
from typing import Any

from simia_gym.envs._tau2.customers import call, full_name, profile_read, secret_row
from simia_gym.envs.airline.people import AIRPORTS
from simia_gym.envs.airline.trips import CERTIFICATES, cities, date_text, method_text, profile, trip_of
from simia_gym.envs.airline.wishes.flights import AND
from simia_gym.language import forms
from simia_gym.service import Case, Option, named_in
from simia_gym.types import JsonObject

_NO_OWN_TRIP = "with this route"
_ACCOUNT = re.compile(r"\b(?:credit_card|gift_card|certificate)_\d+\b")
_DATE = re.compile(
    r"\b(?:2024-05-(\d\d)|May (?:the )?(\d\d?)(?:st|nd|rd|th)?|(\d\d?)(?:st|nd|rd|th)? (?:of )?May)\b"
    r"|(?<![\d/])0?5/(\d\d?)(?:/(?:20)?24)?(?![\d/])",
    re.IGNORECASE,
)
_FROM = r"\b(?:from|out of|leaving|departing)"
_ROUTE = re.compile(rf"{_FROM}\b|(?-i:\b(?:to|in|into|at|for|between) [A-Z]|\w ?[-–→] ?[A-Z])", re.IGNORECASE)
_CERTIFICATE = re.compile(r"\bcertificates?\b", re.IGNORECASE)


def route_text(route: str) -> str:
    """A route as it is said: ``Boston to Denver``."""
    return " to ".join(AIRPORTS.get(code, code) for code in route.split("-"))


def route_named(text: str, case: Case) -> str | None:
    """The route that a text names by two cities or airports."""
    names = {code: (city, code) for code, city in cities(case).items()}
    found = named_in(text, names)
    if len(found) != 2:
        return None
    if re.search(rf"{_FROM} (?:{'|'.join(names[found[1]])})\b", text, re.IGNORECASE):
        found.reverse()
    return "-".join(found)


def route_expected(case: Case, value: str) -> list[JsonObject]:
    """A proposal names both ends of the route."""
    return [{"any": [code, AIRPORTS[code]], "avoid": []} for code in value.split("-")]


def trip_described(text: str, case: Case) -> str | None:
    """The reservation that a text describes by its route; a route that fits none is of somebody else's reservation."""
    if _ROUTE.search(text) is None:
        return None
    route = route_named(text, case)
    if route is None:
        return None
    for key in profile(case)["reservations"]:
        row = trip_of(case, key)
        if route == f"{row['origin']}-{row['destination']}":
            return str(key)
    return _NO_OWN_TRIP


def date_named(text: str, case: Case) -> str | None:
    """The date that a text names, or those of both ways; no date if the customer has to name two, and names one."""
    found = [f"2024-05-{int(next(filter(None, match.groups()))):02d}" for match in _DATE.finditer(text)]
    ways = 2 if case.known.get("trip_type") == "round_trip" else 1
    return AND.join(found[:2]) if len(found) >= ways else None


def ways_dated(text: str, case: Case) -> str | None:
    """Whether it is a round trip, by the number of dates."""
    return ("round_trip" if AND in case.known["date"] else "one_way") if "date" in case.known else None


def dates_text(value: str) -> str:
    """The dates of one or two ways, as they are said."""
    return ", and back on ".join(map(date_text, value.split(AND)))


def date_expected(case: Case, value: str) -> list[JsonObject]:
    """What a proposal may say about each date."""
    return [{"any": [*dict.fromkeys(forms(day))], "avoid": []} for day in dict.fromkeys(value.split(AND))]


def methods_of_customer(case: Case) -> dict[str, Option]:
    """The payment methods of the profile, and each credit card after all certificates."""
    found, cards = {}, {}
    rows = profile(case)["payment_methods"]
    for key, row in rows.items():
        kind = row["source"].replace("_", " ")
        if row["source"] == "credit_card":
            say = (f"my {method_text(row)}", f"the {method_text(row).replace(' ending', ' card ending')}")
            found[key] = Option(say, (key, row["last_four"]))
            rest = (f"all of my certificates, and {say[0]} for the rest", f"all my certificates and then {say[1]}")
            cards[f"{CERTIFICATES} + {key}"] = Option(rest, (key, row["last_four"], "certificate", "certificates"))
        else:
            several = [other["source"] for other in rows.values()].count(row["source"]) > 1
            name = method_text(row) if several else kind
            found[key] = Option((f"my {name}", f"the {name}"), (key, method_text(row), kind))
    return {**found, **cards}


def method_named(text: str, case: Case) -> str | None:
    """The payment method that a text names, of the customer or of somebody else."""
    given = _ACCOUNT.search(text)
    if given is not None:
        return given[0]
    text = re.sub(r"\bgiftcard", "gift card", text, flags=re.IGNORECASE)
    options = {key: one.forms for key, one in methods_of_customer(case).items() if CERTIFICATES not in key}
    named = named_in(text, options)
    card = next((key for key in named if profile(case)["payment_methods"][key]["source"] == "credit_card"), None)
    return f"{CERTIFICATES} + {card}" if card and _CERTIFICATE.search(text) else next(iter(named), None)


def _read_trip(case: Case) -> JsonObject:
    return call("get_reservation_details", reservation_id=case.slot("reservation"))


def shows_owner(case: Case) -> list[Any]:
    """Whose a reservation is shows in the profile and in the reservation."""
    return [[profile_read(case), _read_trip(case)]]


def shows_methods(case: Case) -> list[Any]:
    """That a payment method is somebody else's shows in the profile."""
    return [profile_read(case)]


def kept_secret(case: Case, drawn: Any) -> list[JsonObject]:
    """A reservation of somebody else may be opened to see whose it is, and nothing of it may be told."""
    row, friend = drawn.rows["trip"], drawn.rows["friend"]
    texts = [
        friend["dob"],
        *(one for leg in row["flights"] for one in (leg["flight_number"], leg["date"], date_text(leg["date"]))),
        *map(full_name, row["passengers"]),
        *(one["payment_id"] for one in row["payment_history"]),
        *(f"${one['amount']}" for one in row["payment_history"]),
    ]
    return secret_row(row["reservation_id"], friend, [profile(case)], texts, "booked and paid")
