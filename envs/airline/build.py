"""Build the airline's database from a seed, as it stands in ``state.json``."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from itertools import permutations

from simia_gym.envs._tau2.people import FIRST_NAMES, LAST_NAMES
from simia_gym.envs._tau2.rows import Tables
from simia_gym.envs.airline.people import (
    AIRPORTS,
    CABIN_BAGS,
    Status,
    cancel,
    free_bags,
    make_customer,
    make_departure,
    make_flight,
    make_method,
    make_passenger,
    make_reservation,
)
from simia_gym.envs.airline.search import departure_key
from simia_gym.envs.airline.trips import NOW, TODAY, day_after
from simia_gym.types import JsonObject

SEED = 20_240
N_USERS, N_RESERVATIONS = 60, 150
HUBS = ("ORD", "ATL", "DEN")
DIRECT = ("BOS-SEA", "JFK-SFO", "LAX-MIA", "LGA-MCO", "EWR-PHX", "DTW-LAS")
"""Routes without a hub that are flown in both directions."""
ROUTES = [
    *((a, b) for a, b in permutations(AIRPORTS, 2) if a in HUBS or b in HUBS or f"{a}-{b}" in DIRECT),
    *((b, a) for a, b in (route.split("-") for route in DIRECT)),
]
"""The routes of the timetable; those of tasks are others."""
DAY = 24 * 60 * 60
"""In seconds; a few reservations were made within the last one."""
DAYS = [day_after(count) for count in range(-6, 8)]
"""The days on which the timetable holds departures; flights of tasks depart later."""

_STATUSES: dict[Status, int] = {"landed": 12, "flying": 12, "on time": 6, "delayed": 4, "cancelled": 1}


def build() -> Tables:
    """Draw a whole database: a timetable around three hubs, customers, and reservations.

    It is the same bytes on every machine. Every customer has at least one reservation, and has paid for
    it with a payment method of the own profile.

    Returns:
        The tables ``users``, ``reservations``, ``flights``, ``departures``, ``airports`` and ``clock``.
    """
    rng = random.Random(SEED)
    tables: Tables = {"users": {}, "reservations": {}, "flights": {}, "departures": {}}
    tables["airports"] = {iata: {"iata": iata, "city": city} for iata, city in AIRPORTS.items()}
    tables["clock"] = {"now": {"time": NOW}}
    _add_timetable(rng, tables)
    taken: set[str] = set()
    for _ in range(N_USERS):
        sources = [
            "credit_card",
            *rng.sample(("credit_card", "gift_card", "gift_card", "certificate"), rng.randrange(4)),
        ]
        user = make_customer(rng, taken, name=_name(rng), methods=[make_method(rng, each, taken) for each in sources])
        user["saved_passengers"] = [make_passenger(rng, _name(rng)) for _ in range(rng.randrange(4))]
        tables["users"][user["user_id"]] = user
    users = list(tables["users"].values())
    for user in [*users, *rng.choices(users, k=N_RESERVATIONS - N_USERS)]:
        row = _make_trip(rng, user, tables, taken)
        tables["reservations"][row["reservation_id"]] = row
    return tables


def _name(rng: random.Random) -> tuple[str, str]:
    return rng.choice(FIRST_NAMES), rng.choice(LAST_NAMES)


def _add_timetable(rng: random.Random, tables: Tables) -> None:
    """Add a flight on every route, and its departures on all days."""
    routes = [*ROUTES]
    rng.shuffle(routes)
    for number, (origin, destination) in enumerate(routes, start=1):
        # Flights to a hub leave early and flights from a hub late, so that they connect.
        departs = rng.randrange(5 * 60, 12 * 60, 5) if destination in HUBS else rng.randrange(12 * 60, 23 * 60, 5)
        flight = make_flight(rng, f"SA{number:03d}", origin, destination, departs)
        tables["flights"][flight["flight_number"]] = flight
        for day in DAYS:
            tables["departures"][departure_key(flight["flight_number"], day)] = _make_departure(rng, flight, day)


def _make_departure(rng: random.Random, flight: JsonObject, day: str) -> JsonObject:
    """A departure with a status that fits what time it is."""
    if day > TODAY:
        return make_departure(rng, flight, day, "available")
    while True:
        (status,) = rng.choices([*_STATUSES], [*_STATUSES.values()])
        row = make_departure(rng, flight, day, status)
        times = {name: time for name, time in row.items() if name.endswith("_time_est")}
        if all((time <= NOW) == name.startswith("actual") for name, time in times.items()):
            return row


def _make_trip(rng: random.Random, user: JsonObject, tables: Tables, taken: set[str]) -> JsonObject:
    """A reservation on the timetable, with all its flights in one of the cabins; about one in twelve is cancelled."""
    cabin, count = rng.choice([*CABIN_BAGS]), rng.choice((1, 1, 1, 2, 2, 3, 4))
    outward = rng.choice([*tables["flights"].values()])
    origin, destination = outward["origin"], outward["destination"]
    leaving = [flight for flight in tables["flights"].values() if flight["origin"] == destination]
    back = [flight for flight in leaving if flight["destination"] == origin]
    lands = outward["scheduled_arrival_time_est"]
    later = [flight for flight in leaving if "+1" not in lands and flight["scheduled_departure_time_est"] > lands]
    onward = [flight for flight in later if flight not in back]
    days = sorted(rng.sample(DAYS, 2))
    flights = [(outward, days[0])]
    round_trip = rng.random() < 0.4
    if round_trip:
        flights.append((rng.choice(back), days[1]))
    elif onward and rng.random() < 0.7:
        flights.append((rng.choice(onward), days[0]))
    legs = []
    for flight, day in flights:
        prices = tables["departures"][departure_key(flight["flight_number"], day)].get("prices") or {}
        legs.append((flight, day, prices.get(cabin, rng.randrange(60, 400))))
    sold = min(datetime.fromisoformat(f"{days[0]}T00:00:00"), datetime.fromisoformat(NOW))
    first, last = rng.choice(((60, DAY), (DAY, 15 * DAY), (DAY, 15 * DAY), (DAY, 15 * DAY)))
    created = sold - timedelta(seconds=rng.randrange(first, last))
    free = free_bags(user["membership"], cabin, count)
    row = make_reservation(
        rng, user, legs,
        [{**user["name"], "dob": user["dob"]}, *(make_passenger(rng, _name(rng)) for _ in range(count - 1))],
        taken, cabin=cabin, paid=next(iter(user["payment_methods"])), created=created.isoformat(),
        round_trip=round_trip, insurance=rng.choice(("yes", "no")), bags=rng.choice((0, min(free, count), free + 1)),
    )  # fmt: skip
    if rng.random() < 1 / 12:
        cancel(row)
    return row
