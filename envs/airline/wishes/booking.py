"""Booking a flight: which one, how it is paid, what policy says about it, and how it is drawn."""

from __future__ import annotations

from functools import partial

from simia_gym.envs.airline.people import BAG, INSURANCE, free_bags, make_method
from simia_gym.envs.airline.trips import (
    CABINS,
    CERTIFICATES,
    account,
    dollars,
    held,
    payers,
    paying,
    profile,
    time_text,
)
from simia_gym.envs.airline.wishes.draw import ROUTES, add_flight, departure, future_day, method_of
from simia_gym.envs.airline.wishes.flights import CHEAPEST, bookable, flight
from simia_gym.envs.airline.wishes.party import in_full, people, some_people
from simia_gym.service import Case, Cast, Drawn, Member, No
from simia_gym.types import JsonObject

_NO_FLIGHT: JsonObject = {"flight_number": "", "scheduled_departure_time_est": "00:00:00"}


def _price(membership: str, cabin: str, count: int, bags: int, insured: str, price: int) -> int:
    """The price of a booking in dollars."""
    insurance = INSURANCE if insured == "yes" else 0
    return count * (price + insurance) + BAG * max(0, bags - free_bags(membership, cabin, count))


def total(case: Case) -> int:
    """The price of what the customer wants, in dollars."""
    row, cabin, count = flight(case), case.slot("cabin"), len(case.slot("passengers"))
    price = row["prices"][cabin] if row else 0
    return _price(profile(case)["membership"], cabin, count, case.slot("bags"), case.slot("insurance"), price)


def shares(case: Case, price: int) -> list[JsonObject]:
    """What each payment method pays of a price: those before the last one what they hold, and that one the rest."""
    methods, keys, rest = profile(case)["payment_methods"], payers(case), price
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
    price = total(case)
    return No({"total": dollars(price)}) if held(case) < price else None


def of_booking(case: Case) -> JsonObject:
    """The arguments of the booking, and its price."""
    row, party, count = flight(case) or _NO_FLIGHT, people(case, ()), len(case.slot("passengers"))
    origin, _, destination = case.slot("route").partition("-")
    own, cabin, bags, day = profile(case), case.slot("cabin"), case.slot("bags"), case.slot("date")
    price = total(case)
    paid = shares(case, price)
    return {
        "origin": origin,
        "destination": destination,
        "flight_type": "one_way",
        "flights": [{"flight_number": row["flight_number"], "date": day}],
        "people": party,
        "payment_methods": paid,
        "nonfree": max(0, bags - free_bags(own["membership"], cabin, count)),
        "number": row["flight_number"],
        "time": time_text(row["scheduled_departure_time_est"]),
        "who": in_full(party),
        "total": dollars(price),
        "paid": " and ".join(f"{dollars(one['amount'])} with {account(case, one['payment_id'])}" for one in paid),
    }


def of_price(case: Case) -> JsonObject:
    """The lowest price of a seat."""
    origin, _, destination = case.slot("route").partition("-")
    rows = bookable(case, origin, destination, case.slot("date"))
    return {"amount": min((row["prices"][case.slot("cabin")] for row in rows), default=0)}


def draw_offers(cast: Cast, who: Member) -> Drawn:
    """Three flights of different prices on a route and a date, and a cabin."""
    day, (origin, destination) = future_day(cast), cast.fresh(ROUTES)
    rows: dict[str, JsonObject] = {}
    for place in range(3):
        number = add_flight(cast, origin, destination, {day: "available"})["flight_number"]
        row = rows[f"departure{place or ''}"] = departure(cast, number, day)
        row["prices"] = {cabin: price // 3 * 3 + place for cabin, price in row["prices"].items()}
    return Drawn({"route": f"{origin}-{destination}", "date": day, "cabin": cast.rng.choice(CABINS)}, rows)


def draw_booking(cast: Cast, who: Member) -> Drawn:
    """One of these flights for the customer and up to two others, with some bags."""
    drawn = draw_offers(cast, who)
    count = cast.rng.choice((1, 1, 2, 3))
    free = free_bags(who.row["membership"], drawn.slots["cabin"], count)
    cards = [key for key, row in who.row["payment_methods"].items() if row["source"] == "credit_card"]
    card = cast.rng.choice(cards)
    drawn.slots.update(
        flight=drawn.rows["departure"]["flight_number"],
        passengers=some_people(cast, who, count),
        bags=max(0, free + cast.rng.randrange(-2, 3)),
        insurance=cast.rng.choice(("yes", "no")),
        payment=cast.rng.choice((card, card, f"{CERTIFICATES} + {card}")),
    )
    return drawn


def wants_the_cheapest(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The cheapest flight is wanted, whichever it is."""
    drawn.slots["flight"] = CHEAPEST


def _seats(cast: Cast, drawn: Drawn, who: Member, missing: int) -> None:
    left = drawn.rows["departure"]["available_seats"]
    left[drawn.slots["cabin"]] = len(drawn.slots["passengers"]) - missing


last_seats, a_seat_short = partial(_seats, missing=0), partial(_seats, missing=1)


def with_certificates(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The customer's certificates pay first."""
    drawn.slots["payment"] = f"{CERTIFICATES} + {method_of(who, 'credit_card')['id']}"


def with_two_certificates(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The customer's certificates pay first, and there are two of them."""
    amount = method_of(who, "certificate")["amount"] + 50
    new = make_method(cast.rng, "certificate", cast.taken, amount)
    who.row["payment_methods"][new["id"]] = new
    with_certificates(cast, drawn, who)


def _alone(cast: Cast, drawn: Drawn, who: Member, source: str, short: int) -> None:
    slots = drawn.slots
    method, price = method_of(who, source), drawn.rows["departure"]["prices"][slots["cabin"]]
    count = len(slots["passengers"])
    price = _price(who.row["membership"], slots["cabin"], count, slots["bags"], slots["insurance"], price)
    method["amount"] = price - short
    slots["payment"] = method["id"]


gift_covers, gift_is_short = partial(_alone, source="gift_card", short=0), partial(_alone, source="gift_card", short=1)
certificate_covers = partial(_alone, source="certificate", short=0)
certificate_is_short = partial(_alone, source="certificate", short=1)
