"""A small airline: a timetable of two days, a customer with four payment methods, and a reservation of two flights."""

from __future__ import annotations

from typing import Any

from simia_gym.state import State
from simia_gym.types import JsonObject

DAY, NEXT = "2024-05-31", "2024-06-01"
FLIGHTS: dict[str, tuple[str, str, str, str]] = {
    "SA1": ("BOS", "ORD", "08:00:00", "10:00:00"),
    "SA2": ("ORD", "SEA", "10:00:00", "14:00:00"),
    "SA3": ("ORD", "SEA", "09:30:00", "13:30:00"),
    "SA4": ("BOS", "DEN", "20:00:00", "01:00:00+1"),
    "SA5": ("DEN", "SEA", "01:00:00", "03:00:00"),
    "SA6": ("DEN", "SEA", "00:30:00", "02:30:00"),
    "SA7": ("BOS", "SEA", "07:00:00", "12:00:00"),
}
"""Origin, destination, times of departure and arrival by flight number."""
PRICES = {"basic_economy": 50, "economy": 100, "business": 300}
SEATS = {"basic_economy": 1, "economy": 4, "business": 4}
ANA: JsonObject = {"first_name": "Ana", "last_name": "Cho", "dob": "1990-01-01"}
BEN: JsonObject = {"first_name": "Ben", "last_name": "Cho", "dob": "1991-01-01"}
TRIP = {"user_id": "ana_cho_1", "origin": "BOS", "destination": "SEA", "flight_type": "one_way", "cabin": "economy"}


def legs(*numbers: str, date: str = DAY) -> list[JsonObject]:
    """Flights as the tools take them."""
    return [{"flight_number": number, "date": date} for number in numbers]


def reservation(**changes: Any) -> JsonObject:
    """Two passengers in economy by way of Chicago, insured, with a charged bag: 510 dollars by card."""
    flights = [
        {"flight_number": number, "origin": FLIGHTS[number][0], "destination": FLIGHTS[number][1], "date": DAY}
        for number in ("SA1", "SA2")
    ]
    return {
        "reservation_id": "R1",
        **TRIP,
        "flights": [{**flight, "price": 100} for flight in flights],
        "passengers": [ANA, BEN],
        "payment_history": [{"payment_id": "card", "amount": 510}],
        "created_at": "2024-05-01T00:00:00",
        "total_baggages": 3,
        "nonfree_baggages": 1,
        "insurance": "yes",
        "status": None,
        **changes,
    }


def airline(**statuses: str) -> State:
    """The airline with one reservation; a flight's status on the first day may be given by its number."""
    departures: dict[str, JsonObject] = {}
    for number in FLIGHTS:
        for date in (DAY, NEXT):
            status = statuses.get(number, "available") if date == DAY else "available"
            row_of = {"flight_number": number, "date": date, "status": status}
            sold = {"available_seats": dict(SEATS), "prices": dict(PRICES)} if status == "available" else {}
            departures[f"{number}@{date}"] = {**row_of, **sold}
    methods: list[JsonObject] = [
        {"source": "credit_card", "id": "card", "brand": "visa", "last_four": "1234"},
        {"source": "gift_card", "id": "gift", "amount": 150},
        {"source": "certificate", "id": "cert", "amount": 200},
    ]
    fields = ("flight_number", "origin", "destination", "scheduled_departure_time_est", "scheduled_arrival_time_est")
    user = {
        "user_id": "ana_cho_1",
        "name": {"first_name": "Ana", "last_name": "Cho"},
        "payment_methods": {method["id"]: method for method in methods},
        "membership": "regular",
        "reservations": ["R1"],
    }
    return State.from_tables(
        {
            "users": {"ana_cho_1": user},
            "reservations": {"R1": reservation()},
            "flights": {key: dict(zip(fields, (key, *row_of), strict=True)) for key, row_of in FLIGHTS.items()},
            "departures": departures,
            "airports": {"BOS": {"iata": "BOS", "city": "Boston"}},
            "clock": {"now": {"time": "2024-05-15T15:00:00"}},
        }
    )


def booking(*numbers: str, **changes: Any) -> JsonObject:
    """Arguments that book flights for Ana, in economy, paid by card."""
    return {
        **TRIP,
        "flights": legs(*numbers),
        "passengers": [ANA],
        "payment_methods": [{"payment_id": "card", "amount": 100 * len(numbers)}],
        "total_baggages": 0,
        "nonfree_baggages": 0,
        "insurance": "no",
        **changes,
    }
