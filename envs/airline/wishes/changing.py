"""Other flights on the same route, and another cabin: rules, what a change comes to, words, and drawing."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from simia_gym.envs.airline.people import make_departure
from simia_gym.envs.airline.trips import CABINS, account, dollars, flights_of, held, paying, time_text, trip
from simia_gym.envs.airline.wishes.draw import add_flight, day_after, departure, draw_trip, method_of, settle
from simia_gym.envs.airline.wishes.flights import CHEAPEST, bookable, chosen, flight
from simia_gym.service import Case, Cast, Drawn, Member, No
from simia_gym.types import JsonObject, Row

_OPEN = [day_after(count) for count in range(2, 12)]
"""The dates on which customers may want to fly instead."""


def _becomes(case: Case) -> list[Row | None]:
    """The flights that are to change as they are sold now: the first one's successor, or all in another cabin."""
    if "date" in case.known:
        return [flight(case)]
    return [
        chosen(bookable(case, leg["origin"], leg["destination"], leg["date"]), leg["flight_number"], "", 0)
        for leg in trip(case)["flights"]
    ]


def _difference(case: Case) -> int:
    """What these flights cost more than before, for all passengers."""
    row, changed = trip(case), _becomes(case)
    cabin = row["cabin"] if "date" in case.known else case.slot("cabin")
    pairs = zip(row["flights"], changed, strict=False)
    return len(row["passengers"]) * sum(int(new["prices"][cabin]) - int(leg["price"]) for leg, new in pairs if new)


def not_basic(case: Case) -> No | None:
    """Flights in basic economy cannot be changed."""
    return No() if trip(case)["cabin"] == "basic_economy" else None


def other_cabin(case: Case) -> No | None:
    """The new cabin is another one."""
    return No() if trip(case)["cabin"] == case.slot("cabin") else None


def cabin_has_seats(case: Case) -> No | None:
    """All flights can be booked in the new cabin for everybody."""
    people, cabin = len(trip(case)["passengers"]), case.slot("cabin")
    for new in _becomes(case):
        if new is None or new["available_seats"][cabin] < people:
            return No()
    return None


def no_certificate(case: Case) -> No | None:
    """A change is not paid with a certificate."""
    return No() if any(row["source"] == "certificate" for row in paying(case)) else None


def covers_change(case: Case) -> No | None:
    """A gift card holds what the change costs."""
    due = _difference(case)
    return No({"due": dollars(due)}) if held(case) < due else None


def same_route(case: Case) -> No | None:
    """A trip goes where it was booked to."""
    return No()


def one_cabin(case: Case) -> No | None:
    """Everybody flies in the same cabin on all flights of a reservation."""
    return No()


def insured_at_booking(case: Case) -> No | None:
    """Insurance is bought with the booking."""
    return No()


def _money(case: Case) -> str:
    """Where the difference comes from or goes to."""
    due, paid = _difference(case), account(case, case.slot("payment"))
    if due > 0:
        return f"{dollars(due)} will be charged to {paid}"
    return f"{dollars(-due)} will go back to {paid}" if due else f"There is no difference in price for {paid}"


def of_new_flight(case: Case) -> JsonObject:
    """The whole list of flights with the new one, and the difference in price."""
    row, new, day = trip(case), flight(case), case.slot("date")
    number, old = new["flight_number"] if new else case.slot("flight"), flights_of(row)
    time = f" ({time_text(new['scheduled_departure_time_est'])})" if new else ""
    return {
        "flights": [{"flight_number": number, "date": day}, *old[1:]],
        "cabin": row["cabin"],
        "what": f"the first flight {old[0]['flight_number'] if old else ''} to flight {number}{time}",
        "money": _money(case),
    }


def of_new_cabin(case: Case) -> JsonObject:
    """The flights as they are, and the difference in price."""
    return {"flights": flights_of(trip(case)), "money": _money(case)}


def _departures(cast: Cast, drawn: Drawn) -> list[JsonObject]:
    """The departures on the wished date instead of the reservation's first flight."""
    leg, flights = drawn.rows["trip"]["flights"][0], cast.rows("flights")
    return [
        row
        for row in cast.rows("departures").values()
        if row["date"] == drawn.slots["date"]
        and (row["flight_number"], row["date"]) != (leg["flight_number"], leg["date"])
        and all(flights[row["flight_number"]][end] == leg[end] for end in ("origin", "destination"))
    ]


def _payment(cast: Cast, drawn: Drawn, who: Member, costs: Iterable[int]) -> str:
    """One of the customer's cards; the gift card only if it covers whatever the flights may cost."""
    row, card = drawn.rows["trip"], method_of(who, "gift_card")
    due = (max(costs) * len(row["flights"]) - sum(leg["price"] for leg in row["flights"])) * len(row["passengers"])
    methods = who.row["payment_methods"]
    cards = [key for key in methods if methods[key]["source"] == "credit_card"]
    return str(cast.rng.choice([*cards, card["id"]] if due <= card["amount"] else cards))


def _costs(cast: Cast, drawn: Drawn) -> list[int]:
    """What the flights that are to change cost now."""
    row = drawn.rows["trip"]
    if "date" in drawn.slots:
        new = chosen(_departures(cast, drawn), drawn.slots["flight"], row["cabin"], len(row["passengers"]))
        return [new["prices"][row["cabin"]]] if new else []
    now = [departure(cast, leg["flight_number"], leg["date"]) for leg in row["flights"]]
    return [one["prices"][drawn.slots["cabin"]] for one in now]


def draw_flight_change(cast: Cast, who: Member) -> Drawn:
    """A reservation and another flight on its route, which has three flights on every date."""
    days = (cast.rng.choice(_OPEN), day_after(cast.rng.randrange(12, 14)))
    drawn = draw_trip(cast, who, cabin=cast.rng.choice(CABINS[1:]), days=days)
    leg = drawn.rows["trip"]["flights"][0]
    own = cast.rows("flights")[leg["flight_number"]]
    for day in _OPEN:
        if day != leg["date"]:
            key = f"{leg['flight_number']}@{day}"
            cast.add("departures", key, make_departure(cast.rng, own, day, "available"))
    for _ in range(2):
        add_flight(cast, leg["origin"], leg["destination"], dict.fromkeys(_OPEN, "available"))
    drawn.slots["date"] = cast.rng.choice(_OPEN)
    found, cabin = _departures(cast, drawn), drawn.rows["trip"]["cabin"]
    prices = [row["prices"][cabin] for row in found]
    options = [row["flight_number"] for row in found] + [CHEAPEST] * (prices.count(min(prices)) == 1)
    drawn.slots["flight"] = cast.rng.choice(options)
    on_route = [one for one in cast.rows("departures").values() if one["flight_number"] in options]
    drawn.slots["payment"] = _payment(cast, drawn, who, [one["prices"][cabin] for one in on_route])
    return drawn


def draw_cabin_change(cast: Cast, who: Member) -> Drawn:
    """A reservation and another cabin."""
    drawn = draw_trip(cast, who)
    row = drawn.rows["trip"]
    now = [departure(cast, leg["flight_number"], leg["date"])["prices"] for leg in row["flights"]]
    drawn.slots["cabin"] = cast.rng.choice([one for one in CABINS if one != row["cabin"]])
    drawn.slots["payment"] = _payment(cast, drawn, who, [price for prices in now for price in prices.values()])
    return drawn


def draw_party(cast: Cast, who: Member) -> Drawn:
    """A round trip of several passengers."""
    return draw_trip(cast, who, passengers=cast.rng.choice((2, 3)), round_trip=True)


def _seats(cast: Cast, drawn: Drawn, who: Member, short: int) -> None:
    """The flights have just enough seats, or too few."""
    row, slots = drawn.rows["trip"], drawn.slots
    for one in _departures(cast, drawn) if "date" in slots else [drawn.rows["departure"]]:
        one["available_seats"][slots.get("cabin", row["cabin"])] = len(row["passengers"]) - short


def _card(cast: Cast, drawn: Drawn, who: Member, short: int) -> None:
    """The flights have been cheaper than they are now, and a gift card pays the difference, or is short of it."""
    row, card, costs = drawn.rows["trip"], method_of(who, "gift_card"), _costs(cast, drawn)
    less = [cast.rng.randrange(10, 45) for _ in costs]
    for leg, cost, one in zip(row["flights"], costs, less, strict=False):
        leg["price"] = cost - one
    settle(row)
    card["amount"] = sum(less) * len(row["passengers"]) - short
    drawn.slots["payment"] = card["id"]


seats_suffice, no_seats = partial(_seats, short=0), partial(_seats, short=1)
card_just_covers, card_is_short = partial(_card, short=0), partial(_card, short=1)


def in_that_cabin(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The reservation is in the wished cabin already."""
    drawn.rows["trip"]["cabin"] = drawn.slots["cabin"]


def pays_with_certificate(cast: Cast, drawn: Drawn, who: Member) -> None:
    """A certificate is to pay."""
    drawn.slots["payment"] = method_of(who, "certificate")["id"]
