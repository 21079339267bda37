"""Booking a trip: how it is paid, what policy says about it, and how it is drawn."""

from __future__ import annotations

from functools import partial

from simia_gym.envs.airline.people import BAG, INSURANCE, free_bags, make_method
from simia_gym.envs.airline.trips import CABINS, CERTIFICATES, account, dollars, held, payers, paying, profile
from simia_gym.envs.airline.wishes.draw import DAYS, ROUTES, add_offers, method_of, methods_of
from simia_gym.envs.airline.wishes.flights import (
    AND,
    CHEAPEST,
    as_booked,
    direct,
    flights_offered,
    flights_wanted,
    in_words,
    price,
)
from simia_gym.envs.airline.wishes.party import in_full, people, some_people
from simia_gym.service import Case, Cast, Drawn, Member, No
from simia_gym.types import JsonObject


def _charged(case: Case) -> int:
    """How many of the bags are not free."""
    free = free_bags(profile(case)["membership"], case.slot("cabin"), len(case.slot("passengers")))
    return max(0, int(case.slot("bags")) - free)


def total(case: Case) -> int:
    """The price of what the customer wants, in dollars."""
    each = price(flights_wanted(case), case.slot("cabin")) + (INSURANCE if case.slot("insurance") == "yes" else 0)
    return len(case.slot("passengers")) * each + BAG * _charged(case)


def shares(case: Case, due: int) -> list[JsonObject]:
    """What each payment method pays of a price: those before the last one what they hold, and that one the rest."""
    methods, keys, rest = profile(case)["payment_methods"], payers(case), due
    found = []
    for place, key in enumerate(keys, 1):
        share = rest if place == len(keys) else min(rest, int(methods.get(key, {}).get("amount", rest)))
        rest -= share
        if share:
            found.append({"payment_id": key, "amount": share})
    return found


def one_certificate(case: Case) -> No | None:
    """One certificate pays for a reservation at most."""
    count = [row["source"] for row in paying(case)].count("certificate")
    return No({"count": count}) if count > 1 else None


def covers_booking(case: Case) -> No | None:
    """The payment methods must hold the whole price."""
    due = total(case)
    return No({"total": dollars(due)}) if held(case) < due else None


def of_booking(case: Case) -> JsonObject:
    """The arguments of the booking, and its price."""
    flights, party = flights_wanted(case), people(case, ())
    origin, _, destination = case.slot("route").partition("-")
    due = total(case)
    paid = shares(case, due)
    return {
        "origin": origin,
        "destination": destination,
        "flights": as_booked(flights),
        "people": party,
        "payment_methods": paid,
        "nonfree": _charged(case),
        "legs": in_words(flights),
        "who": in_full(party),
        "total": dollars(due),
        "paid": " and ".join(f"{dollars(one['amount'])} with {account(case, one['payment_id'])}" for one in paid),
    }


def of_price(case: Case) -> JsonObject:
    """The lowest price of a seat."""
    origin, _, destination = case.slot("route").partition("-")
    rows = direct(case, origin, destination, case.slot("date"))
    return {"amount": min((row["prices"][case.slot("cabin")] for row in rows), default=0)}


def draw_offers(cast: Cast, who: Member, *, ways: int = 1, stops: str = "none") -> Drawn:
    """Flights of different prices on a route, and the dates and the cabin that the customer wants."""
    route, days = cast.fresh(ROUTES), [cast.rng.choice(DAYS[way]) for way in range(ways)]
    for way, day in enumerate(days):
        add_offers(cast, route[::-1] if way else route, [day], stops)
    return Drawn({"route": "-".join(route), "date": AND.join(days), "cabin": cast.rng.choice(CABINS)})


def draw_booking(cast: Cast, who: Member) -> Drawn:
    """Some of these flights for the customer and up to two others, with some bags."""
    ways, stops = cast.rng.choice((1, 1, 2)), cast.rng.choice(("none", "one", "any"))
    drawn = draw_offers(cast, who, ways=ways, stops=stops)
    count = cast.rng.choice((1, 1, 2, 3))
    free = free_bags(who.row["membership"], drawn.slots["cabin"], count)
    card = cast.rng.choice(methods_of(who, "credit_card"))["id"]
    first = f"{CERTIFICATES} + {card}" if len(methods_of(who, "certificate")) == 1 else card
    drawn.slots.update(
        trip_type="round_trip" if ways > 1 else "one_way",
        stops=stops,
        passengers=some_people(cast, who, count),
        bags=max(0, free + cast.rng.randrange(-2, 3)),
        insurance=cast.rng.choice(("yes", "no")),
        payment=cast.rng.choice((card, card, first)),
    )
    drawn.slots["flight"] = cast.rng.choice([*flights_offered(cast.case(who, drawn.slots))])
    return drawn


def wants_the_cheapest(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The cheapest flight is wanted, whichever it is."""
    drawn.slots["flight"] = CHEAPEST


def with_certificates(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The customer's certificate pays first, and is the only one."""
    for other in methods_of(who, "certificate")[1:]:
        del who.row["payment_methods"][other["id"]]
    drawn.slots["payment"] = f"{CERTIFICATES} + {method_of(who, 'credit_card')['id']}"


def with_two_certificates(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The customer's certificates pay first, and there are two of them."""
    with_certificates(cast, drawn, who)
    amount = method_of(who, "certificate")["amount"] + 50
    new = make_method(cast.rng, "certificate", cast.taken, amount)
    who.row["payment_methods"][new["id"]] = new


def _alone(cast: Cast, drawn: Drawn, who: Member, source: str, short: int) -> None:
    method = method_of(who, source)
    method["amount"] = total(cast.case(who, drawn.slots)) - short
    drawn.slots["payment"] = method["id"]


gift_covers, gift_is_short = partial(_alone, source="gift_card", short=0), partial(_alone, source="gift_card", short=1)
certificate_covers = partial(_alone, source="certificate", short=0)
certificate_is_short = partial(_alone, source="certificate", short=1)
