"""Other flights on the same route, and another cabin: rules, what a change comes to, and drawing."""

from __future__ import annotations

import random
from functools import partial

from simia_gym.envs.airline.people import make_departure
from simia_gym.envs.airline.search import departure_key
from simia_gym.envs.airline.trips import CABINS, account, dollars, held, paying, trip
from simia_gym.envs.airline.wishes.draw import DAYS, add_offers, departure, draw_trip, leaves_today, method_of, settle
from simia_gym.envs.airline.wishes.flights import (
    AND,
    as_booked,
    flights_offered,
    flights_wanted,
    in_words,
    offers,
    party_size,
    price,
)
from simia_gym.service import Case, Cast, Drawn, Member, No
from simia_gym.types import JsonObject


def _difference(case: Case) -> int:
    """What the flights cost more than before, for all passengers."""
    cabin = case.slot("cabin")
    return party_size(case) * (price(flights_wanted(case), cabin) - price(trip(case)["flights"], cabin))


def not_basic(case: Case) -> No | None:
    """Flights in basic economy cannot be changed."""
    return No() if trip(case)["cabin"] == "basic_economy" else None


def other_cabin(case: Case) -> No | None:
    """The new cabin is another one."""
    return No() if trip(case)["cabin"] == case.slot("cabin") else None


def no_certificate(case: Case) -> No | None:
    """A change is not paid with a certificate."""
    return No() if any(row["source"] == "certificate" for row in paying(case)) else None


def covers_change(case: Case) -> No | None:
    """A gift card holds what the change costs."""
    due = _difference(case)
    return No({"due": dollars(due)}) if held(case) < due else None


def of_change(case: Case) -> JsonObject:
    """All flights as they are to be, and where the difference in price comes from or goes to."""
    flights, due, paid = flights_wanted(case), _difference(case), account(case, case.slot("payment"))
    money = f"{dollars(due)} will be charged to {paid}"
    if due <= 0:
        money = f"{dollars(-due)} will go back to {paid}" if due else f"There is no difference in price for {paid}"
    return {"flights": as_booked(flights), "new": in_words(flights), "money": money}


def _payment(cast: Cast, drawn: Drawn, who: Member) -> str:
    """One of the customer's cards; the gift card only if it covers the change in every cabin."""
    card, methods, case = method_of(who, "gift_card"), who.row["payment_methods"], cast.case(who, drawn.slots)
    cards = [key for key in methods if methods[key]["source"] == "credit_card"]
    due = max(_difference(Case(case.who, case.reader, {**drawn.slots, "cabin": cabin})) for cabin in CABINS)
    return str(cast.rng.choice([*cards, card["id"]] if due <= card["amount"] else cards))


def draw_flight_change(cast: Cast, who: Member) -> Drawn:
    """A reservation, and other flights on the ways of it that change.

    Which ways these are follows from who the customer is, so that another date that he is drawn fits.
    """
    shape = random.Random(who.key)
    part = shape.choice(("out", "back", "all", "all"))
    round_trip = part != "all" or shape.random() < 0.5
    changed = {"out": [0], "back": [1]}.get(part, [0, 1] if round_trip else [0])
    drawn = draw_trip(cast, who, cabin=cast.rng.choice(CABINS[1:]), round_trip=round_trip)
    row, slots = drawn.rows["trip"], drawn.slots
    stops = cast.rng.choice(("none", "one", "any"))
    for way in changed:
        leg = row["flights"][way]
        add_offers(cast, (leg["origin"], leg["destination"]), DAYS[way], stops)
        own = cast.rows("flights")[leg["flight_number"]]
        for day in DAYS[way]:
            if day != leg["date"]:
                row_of_day = make_departure(cast.rng, own, day, "available")
                cast.add("departures", departure_key(leg["flight_number"], day), row_of_day)
    slots.update(part=part, stops=stops, date=AND.join(cast.rng.choice(DAYS[way]) for way in changed))
    slots["cabin"] = cast.rng.choice((row["cabin"], row["cabin"], *CABINS[1:]))
    slots["flight"] = cast.rng.choice([*flights_offered(cast.case(who, slots))])
    slots["payment"] = _payment(cast, drawn, who)
    return drawn


def draw_cabin_change(cast: Cast, who: Member) -> Drawn:
    """A reservation and another cabin."""
    drawn = draw_trip(cast, who)
    drawn.slots["cabin"] = cast.rng.choice([one for one in CABINS if one != drawn.rows["trip"]["cabin"]])
    drawn.slots["payment"] = _payment(cast, drawn, who)
    return drawn


def draw_party(cast: Cast, who: Member) -> Drawn:
    """A round trip of several passengers."""
    return draw_trip(cast, who, passengers=cast.rng.choice((2, 3)), round_trip=True)


def _seats(cast: Cast, drawn: Drawn, who: Member, short: int) -> None:
    """All flights that the customer may choose have just enough seats, or too few."""
    case, cabin = cast.case(who, drawn.slots), drawn.slots["cabin"]
    found = [one for way in offers(case) for several in way for one in several] if case.has("date") else None
    for one in found or flights_wanted(case):
        departure(cast, one["flight_number"], one["date"])["available_seats"][cabin] = party_size(case) - short


def _card(cast: Cast, drawn: Drawn, who: Member, short: int) -> None:
    """The flights have been cheaper than they are now, and a gift card pays the difference, or is short of it."""
    row, card, case = drawn.rows["trip"], method_of(who, "gift_card"), cast.case(who, drawn.slots)
    kept = as_booked(one for one in flights_wanted(case) if "price" in one)
    changed = [leg for leg, key in zip(row["flights"], as_booked(row["flights"]), strict=True) if key not in kept]
    less = cast.rng.randrange(10, 45)
    rest = price(changed, row["cabin"]) + _difference(case) // len(row["passengers"]) - less
    for place, leg in enumerate(changed, 1):
        leg["price"] = rest // len(changed) if place < len(changed) else rest - rest // len(changed) * (place - 1)
    settle(row)
    card["amount"] = less * len(row["passengers"]) - short
    drawn.slots["payment"] = card["id"]


seats_suffice, no_seats = partial(_seats, short=0), partial(_seats, short=1)
card_just_covers, card_is_short = partial(_card, short=0), partial(_card, short=1)


def delayed_out(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The first flight leaves today and is delayed, and the cabin stays what it is."""
    drawn.rows["trip"]["cabin"] = drawn.slots["cabin"]
    leaves_today(cast, drawn, who, "delayed")


def in_that_cabin(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The reservation is in the wished cabin already."""
    drawn.rows["trip"]["cabin"] = drawn.slots["cabin"]


def pays_with_certificate(cast: Cast, drawn: Drawn, who: Member) -> None:
    """A certificate is to pay."""
    drawn.slots["payment"] = method_of(who, "certificate")["id"]
