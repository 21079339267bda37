"""The customers, flights and reservations of a task.

They exist in no other task, so that a policy cannot memorise them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

from simia_gym.envs.airline import build
from simia_gym.envs.airline.payments import price_of
from simia_gym.envs.airline.people import (
    AIRPORTS,
    Status,
    cancel,
    make_customer,
    make_departure,
    make_flight,
    make_method,
    make_passenger,
    make_reservation,
)
from simia_gym.envs.airline.search import departure_key
from simia_gym.envs.airline.trips import CABINS, TODAY, day_after
from simia_gym.service import Cast, Drawn, Member
from simia_gym.types import JsonObject

ROUTES = [route for route in permutations(AIRPORTS, 2) if route not in build.ROUTES]
"""Routes of tasks; no flight of the shared database flies them."""
_NUMBERS = [f"SA{number}" for number in range(200, 1000)]
"""Flight numbers of tasks; those of the shared database are lower."""
_DEPARTURES = [minute for minute in range(6 * 60, 21 * 60) if minute % 5]
"""Minutes of the day at which flights of tasks depart, each at another one."""
_OFFERS = {"none": (3, 1), "one": (1, 2), "any": (2, 1)}
"""How many direct flights and how many connections there are for customers who want no stop, one, or do not mind."""
_TIMES: Mapping[str, tuple[str, str]] = {"landed": ("07:12:00", "09:34:00"), "flying": ("13:23:00", "17:04:00")}


def new_customer(cast: Cast) -> Member:
    """Somebody new with two credit cards, a gift card, one or two certificates and two saved passengers."""
    sources = ("credit_card", "credit_card", "gift_card", "certificate", *cast.rng.choice(((), (), ("certificate",))))
    methods = [make_method(cast.rng, source, cast.taken) for source in sources]
    row = make_customer(cast.rng, cast.taken, name=cast.name(), methods=methods)
    row["saved_passengers"] = [make_passenger(cast.rng, cast.name()) for _ in range(2)]
    return Member("users", row["user_id"], row, {"user_id": row["user_id"]})


DAYS = ([day_after(count) for count in range(8, 12)], [day_after(count) for count in range(12, 15)])
"""Dates on which flights of tasks depart, those of the way out and those of the way back; the timetable ends before."""
_LATE = (day_after(15), day_after(16))
"""Dates on which no flight of the customer departs."""


def earlier(cast: Cast) -> str:
    """A time on one of the days before yesterday."""
    time = cast.rng.randrange(24 * 60)
    return f"{day_after(-cast.rng.randrange(2, 25))}T{time // 60:02d}:{time % 60:02d}:{cast.rng.randrange(10, 60)}"


def methods_of(who: Member, source: str) -> list[JsonObject]:
    """The payment methods of the customer of one of the three kinds."""
    return [row for row in who.row["payment_methods"].values() if row["source"] == source]


def method_of(who: Member, source: str) -> JsonObject:
    """A payment method of the customer, of one of the three kinds."""
    return methods_of(who, source)[0]


def add_flight(
    cast: Cast, origin: str, destination: str, days: Mapping[str, Status], minutes: Sequence[int] = _DEPARTURES
) -> JsonObject:
    """Add a flight that departs at one of some minutes of the day, and a departure of it on each of the days."""
    row = make_flight(cast.rng, cast.fresh(_NUMBERS), origin, destination, cast.fresh(minutes))
    for day, status in days.items():
        cast.add("departures", departure_key(row["flight_number"], day), make_departure(cast.rng, row, day, status))
    return cast.add("flights", row["flight_number"], row)


def add_offers(cast: Cast, route: tuple[str, str], days: Sequence[str], stops: str) -> None:
    """Add direct flights and connections on a route, each for another price."""
    count, connections = _OFFERS[stops]
    by_way_of = cast.rng.sample([code for code in AIRPORTS if code not in route], connections)
    for place, stop in enumerate([*[None] * count, *by_way_of]):
        ends = [(route[0], stop), (stop, route[1])] if stop else [route]
        after, last = 0, 12 * 60 if stop else 24 * 60
        for number, (origin, destination) in enumerate(ends):
            minutes = [minute for minute in _DEPARTURES if after < minute < last]
            flight = add_flight(cast, str(origin), str(destination), dict.fromkeys(days, "available"), minutes)
            hour, minute = map(int, flight["scheduled_arrival_time_est"].split(":")[:2])
            after, last = 60 * hour + minute, 24 * 60
            for day in days:
                prices = departure(cast, flight["flight_number"], day)["prices"]
                for cabin in prices:
                    prices[cabin] = prices[cabin] // len(ends) // 4 * 4 + place * (number == 0)


def departure(cast: Cast, flight_number: str, day: str) -> JsonObject:
    """A departure that was added, which may still be changed."""
    return cast.rows("departures")[departure_key(flight_number, day)]


def leaves_today(cast: Cast, drawn: Drawn, who: Member, status: Status) -> None:
    """The first flight of the reservation is today's, with this status; its times fit what time it is."""
    leg = drawn.rows["trip"]["flights"][0]
    flight = cast.rows("flights")[leg["flight_number"]]
    start, end = _TIMES.get(status, ("17:41:00", "20:16:00"))
    flight.update(scheduled_departure_time_est=start, scheduled_arrival_time_est=end)
    leg["date"] = TODAY
    row = make_departure(cast.rng, flight, TODAY, status)
    drawn.rows["departure"] = cast.add("departures", departure_key(leg["flight_number"], TODAY), row)


def draw_trip(
    cast: Cast,
    who: Member,
    *,
    cabin: str | None = None,
    round_trip: bool | None = None,
    passengers: int | None = None,
    insurance: str = "no",
    others: int | None = None,
) -> Drawn:
    """A reservation of the customer, who is the first passenger, maybe among others on other routes.

    It was booked on an earlier day and paid with a credit card, and has no checked bags. What is not given is drawn.

    Returns:
        The slots ``reservation`` and ``route``; the rows ``trip``, and ``departure`` of the first flight.
    """
    rng = cast.rng
    back = rng.random() < 0.4 if round_trip is None else round_trip
    cabin = cabin or rng.choice(CABINS)
    count = rng.choice((1, 1, 2, 3)) if passengers is None else passengers
    origin, destination = cast.fresh(ROUTES)
    days = [rng.choice(way) for way in DAYS]
    legs = []
    for start, end, day in [(origin, destination, days[0]), *([(destination, origin, days[1])] if back else [])]:
        flight = add_flight(cast, start, end, {day: "available"})
        legs.append((flight, day, departure(cast, flight["flight_number"], day)["prices"][cabin]))
    people = [{**who.row["name"], "dob": who.row["dob"]}]
    people += [make_passenger(rng, cast.name()) for _ in range(count - 1)]
    row = make_reservation(
        rng, who.row, legs, people, cast.taken, cabin=cabin, paid=method_of(who, "credit_card")["id"],
        created=earlier(cast), round_trip=back, insurance=insurance,
    )  # fmt: skip
    cast.add("reservations", row["reservation_id"], row)
    for _ in range(rng.choice((0, 1, 1)) if others is None else others):
        draw_trip(cast, who, others=0)
    rng.shuffle(who.row["reservations"])
    leg = row["flights"][0]
    slots = {"reservation": row["reservation_id"], "route": f"{origin}-{destination}"}
    return Drawn(slots, {"trip": row, "departure": departure(cast, leg["flight_number"], leg["date"])})


def settle(row: JsonObject) -> None:
    """Bring what was paid for a reservation in line with what is booked."""
    price = price_of(row)
    for payment in row["payment_history"]:
        payment["amount"] = price if payment["amount"] >= 0 else -price


def friends_trip(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The reservation is somebody else's."""
    friend, row = cast.join(new_customer(cast)), drawn.rows["trip"]
    who.row["reservations"].remove(row["reservation_id"])
    friend.row["reservations"].append(row["reservation_id"])
    row["user_id"] = friend.key
    row["passengers"][0] = {**friend.row["name"], "dob": friend.row["dob"]}
    for leg, day in zip(row["flights"], _LATE, strict=False):  # nobody else's flights, which may be spoken of, are then
        moved = {**departure(cast, leg["flight_number"], leg["date"]), "date": day}
        cast.add("departures", departure_key(leg["flight_number"], day), moved)
        leg["date"] = day
    for payment in row["payment_history"]:
        payment["payment_id"] = method_of(friend, "credit_card")["id"]
    drawn.rows["friend"] = friend.row


def now_flown(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The first flight of the reservation has taken off."""
    leaves_today(cast, drawn, who, cast.rng.choice(("landed", "flying")))


def cancelled_before(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The reservation was cancelled."""
    cancel(drawn.rows["trip"])


def friends_account(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The payment method is somebody else's."""
    friend = cast.join(new_customer(cast))
    drawn.slots["payment"] = method_of(friend, "credit_card")["id"]
