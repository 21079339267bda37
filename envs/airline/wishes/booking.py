"""Booking a flight: which one, how it is paid, what policy says about it, and how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from simia_gym.envs.airline.people import BAG, INSURANCE, free_bags, make_method
from simia_gym.envs.airline.trips import CABINS, account, dollars, profile, time_text
from simia_gym.envs.airline.wishes.draw import ROUTES, add_flight, departure, friends_account, future_day, method_of
from simia_gym.envs.airline.wishes.flights import CHEAPEST, bookable, chosen, expected, offered, told
from simia_gym.envs.airline.wishes.party import in_full, people, some_people
from simia_gym.envs.airline.wishes.reading import method_named, methods_of_customer
from simia_gym.service import Case, Cast, Drawn, Member, No, Option
from simia_gym.types import JsonObject, Row

CERTIFICATES = "certificates"
"""All certificates of the profile, among what is to pay."""

_NO_FLIGHT: JsonObject = {"flight_number": "", "scheduled_departure_time_est": "00:00:00"}


def offers(case: Case) -> list[Row]:
    """The direct flights on the route and date that the customer wants."""
    origin, _, destination = case.slot("route").partition("-")
    return bookable(case, origin, destination, case.slot("date"))


def flight(case: Case) -> Row | None:
    """The flight that the customer wants."""
    return chosen(offers(case), case.slot("flight"), case.slot("cabin"), len(case.slot("passengers")))


def flights_of_day(case: Case) -> dict[str, Option]:
    """The flights on the route and date."""
    return offered(offers(case), case.slot("cabin"), len(case.slot("passengers")))


def flight_named(text: str, case: Case) -> str | None:
    """The flight that a text names."""
    return told(text, offers(case))


def flight_expected(case: Case, value: str) -> list[JsonObject]:
    """A proposal names the flight."""
    return expected(flight(case))


def _price(membership: str, cabin: str, count: int, bags: int, insured: str, price: int) -> int:
    """The price of a booking in dollars."""
    insurance = INSURANCE if insured == "yes" else 0
    return count * (price + insurance) + BAG * max(0, bags - free_bags(membership, cabin, count))


def total(case: Case) -> int:
    """The price of what the customer wants, in dollars."""
    row, cabin, count = flight(case), case.slot("cabin"), len(case.slot("passengers"))
    price = row["prices"][cabin] if row else 0
    return _price(profile(case)["membership"], cabin, count, case.slot("bags"), case.slot("insurance"), price)


def payers(case: Case) -> list[str]:
    """The ids of the payment methods that are to pay, in their order."""
    methods = profile(case)["payment_methods"]
    certificates = [key for key, row in methods.items() if row["source"] == "certificate"]
    return [key for one in case.slot("paying") for key in (certificates if one == CERTIFICATES else [one])]


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


def ways_to_pay(case: Case) -> dict[tuple[str, ...], Option]:
    """A card of the profile, all certificates, or these and a card for the rest."""
    methods = profile(case)["payment_methods"]
    cards = {key: one for key, one in methods_of_customer(case).items() if methods[key]["source"] != "certificate"}
    found: dict[tuple[str, ...], Option] = {(key,): one for key, one in cards.items()}
    found[(CERTIFICATES,)] = Option(("nothing but my certificates",))
    for key, one in cards.items():
        if methods[key]["source"] == "credit_card":
            said = (
                f"all of my certificates, and {one.say[0]} for the rest",
                f"all my certificates and then {one.say[1]}",
            )
            found[CERTIFICATES, key] = Option(said)
    return found


def way_named(text: str, case: Case) -> tuple[str, ...] | None:
    """What a text says is to pay."""
    found = method_named(text, case)
    return ((CERTIFICATES,) if CERTIFICATES in text else ()) + ((found,) if found else ()) or None


def way_text(way: Sequence[str]) -> str:
    """A payment method of somebody else."""
    return f"my friend's account {way[0]}"


def way_expected(case: Case, value: Sequence[str]) -> list[JsonObject]:
    """A proposal names every payment method that pays."""
    options = methods_of_customer(case)
    paid = [share["payment_id"] for share in shares(case, total(case))]
    wrong = [form for key, one in options.items() if key not in paid for form in one.named]
    return [{"any": [*options[key].named] if key in options else [key], "avoid": wrong} for key in paid]


def enough_seats(case: Case) -> No | None:
    """Everybody needs a seat."""
    row, count = flight(case), len(case.slot("passengers"))
    return None if row and row["available_seats"][case.slot("cabin")] >= count else No({"count": count})


def own_methods(case: Case) -> No | None:
    """Only payment methods of the profile pay."""
    return None if all(key in profile(case)["payment_methods"] for key in payers(case)) else No()


def one_certificate(case: Case) -> No | None:
    """One certificate pays for a reservation at most."""
    methods = profile(case)["payment_methods"]
    used = [key for key in payers(case) if methods[key]["source"] == "certificate"]
    return No({"count": len(used)}) if len(used) > 1 else None


def covers_booking(case: Case) -> No | None:
    """Without a credit card, the payment methods must hold the whole price."""
    rows = [profile(case)["payment_methods"][key] for key in payers(case)]
    if any(row["source"] == "credit_card" for row in rows):
        return None
    price = total(case)
    return No({"total": dollars(price)}) if sum(row["amount"] for row in rows) < price else None


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
    prices = [row["prices"][case.slot("cabin")] for row in offers(case)]
    return {"amount": min(prices, default=0)}


def draw_offers(cast: Cast, who: Member) -> Drawn:
    """Three flights of different prices on a route and a date, and a cabin."""
    day, (origin, destination) = future_day(cast), cast.fresh(ROUTES)
    rows: dict[str, JsonObject] = {}
    for place in range(3):
        flight = add_flight(cast, origin, destination, {day: "available"})
        row = rows[f"departure{place or ''}"] = departure(cast, flight["flight_number"], day)
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
        paying=cast.rng.choice(((card,), (card,), (CERTIFICATES, card))),
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
    drawn.slots["paying"] = (CERTIFICATES, method_of(who, "credit_card")["id"])


def with_two_certificates(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The customer's certificates pay first, and there are two of them."""
    new = make_method(cast.rng, "certificate", cast.taken)
    who.row["payment_methods"][new["id"]] = new
    with_certificates(cast, drawn, who)


def _alone(cast: Cast, drawn: Drawn, who: Member, source: str, short: int) -> None:
    slots = drawn.slots
    method, price = method_of(who, source), drawn.rows["departure"]["prices"][slots["cabin"]]
    count = len(slots["passengers"])
    price = _price(who.row["membership"], slots["cabin"], count, slots["bags"], slots["insurance"], price)
    method["amount"] = price - short
    slots["paying"] = (CERTIFICATES if source == "certificate" else method["id"],)


gift_covers, gift_is_short = partial(_alone, source="gift_card", short=0), partial(_alone, source="gift_card", short=1)
certificate_covers = partial(_alone, source="certificate", short=0)
certificate_is_short = partial(_alone, source="certificate", short=1)


def friend_pays(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The payment method is somebody else's."""
    friends_account(cast, drawn, who)
    drawn.slots["paying"] = (drawn.slots.pop("payment"),)
