"""Other flights on the same route, and another cabin: rules, what a change comes to, words, and drawing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import partial

from simia_gym.envs.airline.draw import add_flight, day_after, departure, draw_trip, method_of, settle
from simia_gym.envs.airline.people import make_departure
from simia_gym.envs.airline.trips import CABINS, dollars, flights_of, method, method_text, time_text, trip
from simia_gym.service import Case, Cast, Drawn, Member, No, Option
from simia_gym.types import JsonObject, Row

CHEAPEST = "cheapest"
"""The value of a wished flight that says no more than this."""
_OPEN = [day_after(count) for count in range(2, 12)]
"""The dates on which customers may want to fly instead."""
_NUMBER = re.compile(r"\b[A-Z]{2}\d{3}\b")
_TIME = re.compile(r"\b(?P<hour>\d\d?):(?P<minute>\d\d)(?: ?(?P<half>[ap])\.?m\b)?", re.IGNORECASE)


def _bookable(case: Case, leg: Row, day: str) -> list[Row]:
    """The flights on the route of a flight of the reservation that can be booked on a day."""
    route = {"origin": leg["origin"], "destination": leg["destination"]}
    found: list[Row] = case.read("search_direct_flight", **route, date=day) or []
    return found


def _alternatives(case: Case) -> list[Row]:
    """The flights that can be booked on the wished date instead of the reservation's first one."""
    legs, day = trip(case)["flights"], case.slot("date")
    if not legs:
        return []
    old = legs[0]
    same_day = day == old["date"]
    return [one for one in _bookable(case, old, day) if not (same_day and one["flight_number"] == old["flight_number"])]


def _chosen(found: Iterable[Row], wanted: str, row: Row) -> Row | None:
    """The flight of this number, or the cheapest with seats for everybody."""
    if wanted != CHEAPEST:
        return next((one for one in found if one["flight_number"] == wanted), None)
    fitting = [one for one in found if one["available_seats"][row["cabin"]] >= len(row["passengers"])]
    return min(fitting, key=lambda one: int(one["prices"][row["cabin"]]), default=None)


def _new_flight(case: Case) -> Row | None:
    """The flight that the customer wants instead of the first one; none if it cannot be had."""
    return _chosen(_alternatives(case), case.slot("new_flight"), trip(case))


def _now(case: Case) -> list[Row | None]:
    """Seats and prices of each flight of the reservation as they are now; none of one that cannot be booked."""
    return [
        next((one for one in _bookable(case, leg, leg["date"]) if one["flight_number"] == leg["flight_number"]), None)
        for leg in trip(case)["flights"]
    ]


def flight_difference(case: Case) -> int:
    """What the new flight costs more than the old one, for all passengers."""
    row, new = trip(case), _new_flight(case)
    return (new["prices"][row["cabin"]] - row["flights"][0]["price"]) * len(row["passengers"]) if new else 0


def cabin_difference(case: Case) -> int:
    """What the other cabin costs more on all flights, for all passengers."""
    row, cabin = trip(case), case.slot("cabin")
    more = [new["prices"][cabin] - leg["price"] for leg, new in zip(row["flights"], _now(case), strict=True) if new]
    return sum(more) * len(row["passengers"])


def _held(case: Case) -> float:
    """What the payment method can pay."""
    chosen = method(case)
    return math.inf if chosen is None or chosen["source"] == "credit_card" else float(chosen["amount"])


def not_basic(case: Case) -> No | None:
    """Flights in basic economy cannot be changed."""
    return No() if trip(case)["cabin"] == "basic_economy" else None


def flight_has_seats(case: Case) -> No | None:
    """The new flight can be booked for everybody."""
    row, new = trip(case), _new_flight(case)
    return No() if new is None or new["available_seats"][row["cabin"]] < len(row["passengers"]) else None


def other_cabin(case: Case) -> No | None:
    """The new cabin is another one."""
    return No() if trip(case)["cabin"] == case.slot("cabin") else None


def cabin_has_seats(case: Case) -> No | None:
    """All flights can be booked in the new cabin for everybody."""
    people, cabin = len(trip(case)["passengers"]), case.slot("cabin")
    for new in _now(case):
        if new is None or new["available_seats"][cabin] < people:
            return No()
    return None


def no_certificate(case: Case) -> No | None:
    """A change is not paid with a certificate."""
    chosen = method(case)
    return No() if chosen is not None and chosen["source"] == "certificate" else None


def covers_flight(case: Case) -> No | None:
    """A gift card holds what the new flight costs more."""
    due = flight_difference(case)
    return No({"due": dollars(due)}) if _held(case) < due else None


def covers_cabin(case: Case) -> No | None:
    """A gift card holds what the new cabin costs more."""
    due = cabin_difference(case)
    return No({"due": dollars(due)}) if _held(case) < due else None


def same_route(case: Case) -> No | None:
    """A trip goes where it was booked to."""
    return No()


def one_cabin(case: Case) -> No | None:
    """Everybody flies in the same cabin on all flights of a reservation."""
    return No()


def insured_at_booking(case: Case) -> No | None:
    """Insurance is bought with the booking."""
    return No()


def _money(case: Case, due: int) -> str:
    """Where the difference comes from or goes to."""
    chosen = method(case)
    account = f"account {case.slot('payment')}" if chosen is None else f"your {method_text(chosen)}"
    if due > 0:
        return f"{dollars(due)} will be charged to {account}"
    return f"{dollars(-due)} will go back to {account}" if due else f"There is no difference in price for {account}"


def of_new_flight(case: Case) -> JsonObject:
    """The whole list of flights with the new one, and the difference in price."""
    row, new, day = trip(case), _new_flight(case), case.slot("date")
    number, old = new["flight_number"] if new else case.slot("new_flight"), flights_of(row)
    time = f" ({time_text(new['scheduled_departure_time_est'])})" if new else ""
    return {
        "flights": [{"flight_number": number, "date": day}, *old[1:]],
        "cabin": row["cabin"],
        "what": f"the first flight {old[0]['flight_number'] if old else ''} to flight {number}{time}",
        "money": _money(case, flight_difference(case)),
    }


def of_new_cabin(case: Case) -> JsonObject:
    """The flights as they are, and the difference in price."""
    return {"flights": flights_of(trip(case)), "money": _money(case, cabin_difference(case))}


def flights_offered(case: Case) -> dict[str, Option]:
    """The flights on the wished date by number and time of departure, and the cheapest if there is one such."""
    found, row = _alternatives(case), trip(case)
    times = [one["scheduled_departure_time_est"][:5] for one in found]
    options = {}
    for one, time in zip(found, times, strict=True):
        number, at = one["flight_number"], time_text(time)
        by_time = (f"the one that leaves at {at}", f"the flight at {at}") if times.count(time) == 1 else ()
        options[number] = Option((*by_time, f"flight {number}"), (number, at))
    cheapest = _chosen(found, CHEAPEST, row)
    prices = [one["prices"][row["cabin"]] for one in found]
    if cheapest is not None and prices.count(cheapest["prices"][row["cabin"]]) == 1:
        options[CHEAPEST] = Option(("the cheapest one", "whichever flight is the cheapest"))
    return options


def flight_named(text: str, case: Case) -> str | None:
    """The flight that a text names by number, by time of departure, or as the cheapest."""
    if CHEAPEST in text.lower():
        return CHEAPEST
    number, time = _NUMBER.search(text), _TIME.search(text)
    if number is not None or time is None:
        return number and number[0]
    hour = int(time["hour"]) % 12 + 12 * (time["half"].lower() == "p") if time["half"] else int(time["hour"])
    clock = f"{hour:02d}:{time['minute']}"
    at = (one["flight_number"] for one in _alternatives(case) if one["scheduled_departure_time_est"][:5] == clock)
    return next(at, time[0])


def flight_expected(case: Case, value: str) -> list[JsonObject]:
    """A proposal names the new flight by number or time."""
    new = _chosen(_alternatives(case), value, trip(case))
    if new is None:
        return []
    time = new["scheduled_departure_time_est"]
    return [{"any": [new["flight_number"], time_text(time), time[:5]], "avoid": []}]


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


def _card_of(cast: Cast, drawn: Drawn, who: Member, costs: Sequence[int], short: int) -> None:
    """The flights have been cheaper than they are now, and a gift card pays the difference, or is short of it."""
    row, card = drawn.rows["trip"], method_of(who, "gift_card")
    less = [cast.rng.randrange(10, 45) for _ in costs]
    for leg, cost, one in zip(row["flights"], costs, less, strict=False):
        leg["price"] = cost - one
    settle(row)
    card["amount"] = sum(less) * len(row["passengers"]) - short
    drawn.slots["payment"] = card["id"]


def _flight_costs(cast: Cast, drawn: Drawn) -> list[int]:
    row = drawn.rows["trip"]
    new = _chosen(_departures(cast, drawn), drawn.slots["new_flight"], row)
    return [new["prices"][row["cabin"]]] if new else []


def _cabin_costs(cast: Cast, drawn: Drawn) -> list[int]:
    legs = drawn.rows["trip"]["flights"]
    return [departure(cast, leg["flight_number"], leg["date"])["prices"][drawn.slots["cabin"]] for leg in legs]


def draw_flight_change(cast: Cast, who: Member) -> Drawn:
    """A reservation and another flight on its route, which has three flights on every date."""
    days = (cast.rng.choice(_OPEN), day_after(cast.rng.randrange(12, 14)))
    drawn = draw_trip(cast, who, cabin=cast.rng.choice(CABINS[1:]), days=days)
    leg = drawn.rows["trip"]["flights"][0]
    flight = cast.rows("flights")[leg["flight_number"]]
    for day in _OPEN:
        if day != leg["date"]:
            key = f"{leg['flight_number']}@{day}"
            cast.add("departures", key, make_departure(cast.rng, flight, day, "available"))
    for _ in range(2):
        add_flight(cast, leg["origin"], leg["destination"], dict.fromkeys(_OPEN, "available"))
    drawn.slots["date"] = cast.rng.choice(_OPEN)
    found, cabin = _departures(cast, drawn), drawn.rows["trip"]["cabin"]
    prices = [row["prices"][cabin] for row in found]
    options = [row["flight_number"] for row in found] + [CHEAPEST] * (prices.count(min(prices)) == 1)
    drawn.slots["new_flight"] = cast.rng.choice(options)
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


def _flight_seats(cast: Cast, drawn: Drawn, who: Member, short: int) -> None:
    row = drawn.rows["trip"]
    for one in _departures(cast, drawn):
        one["available_seats"][row["cabin"]] = len(row["passengers"]) - short


def _cabin_seats(cast: Cast, drawn: Drawn, who: Member, short: int) -> None:
    seats = drawn.rows["departure"]["available_seats"]
    seats[drawn.slots["cabin"]] = len(drawn.rows["trip"]["passengers"]) - short


def _flight_card(cast: Cast, drawn: Drawn, who: Member, short: int) -> None:
    _card_of(cast, drawn, who, _flight_costs(cast, drawn), short)


def _cabin_card(cast: Cast, drawn: Drawn, who: Member, short: int) -> None:
    _card_of(cast, drawn, who, _cabin_costs(cast, drawn), short)


last_seats_on_flight, no_seats_on_flight = partial(_flight_seats, short=0), partial(_flight_seats, short=1)
last_seats_in_cabin, no_seats_in_cabin = partial(_cabin_seats, short=0), partial(_cabin_seats, short=1)
card_just_covers_flight, card_short_of_flight = partial(_flight_card, short=0), partial(_flight_card, short=1)
card_just_covers_cabin, card_short_of_cabin = partial(_cabin_card, short=0), partial(_cabin_card, short=1)


def in_that_cabin(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The reservation is in the wished cabin already."""
    drawn.rows["trip"]["cabin"] = drawn.slots["cabin"]


def pays_with_certificate(cast: Cast, drawn: Drawn, who: Member) -> None:
    """A certificate is to pay."""
    drawn.slots["payment"] = method_of(who, "certificate")["id"]
