"""Invented customers, flights and reservations: the rows of the database and of tasks."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

from simia_gym.envs._tau2.people import fresh_id, make_payment_method, make_user
from simia_gym.types import JsonObject, Row

AIRPORTS = {
    "SFO": "San Francisco", "JFK": "New York", "LAX": "Los Angeles", "ORD": "Chicago", "DFW": "Dallas",
    "DEN": "Denver", "SEA": "Seattle", "ATL": "Atlanta", "MIA": "Miami", "BOS": "Boston", "PHX": "Phoenix",
    "IAH": "Houston", "LAS": "Las Vegas", "MCO": "Orlando", "EWR": "Newark", "CLT": "Charlotte",
    "MSP": "Minneapolis", "DTW": "Detroit", "PHL": "Philadelphia", "LGA": "LaGuardia",
}  # fmt: skip
"""The city of each airport, by its code."""
MEMBERSHIPS = ("regular", "silver", "gold")
FREE_BAGS = {"regular": 0, "silver": 1, "gold": 2}
"""Free checked bags of a passenger in basic economy; economy has one more, and business two more."""
CABIN_BAGS = {"basic_economy": 0, "economy": 1, "business": 2}
BAG, INSURANCE = 50, 30
"""Price in dollars of a further checked bag, and of a passenger's insurance."""

Status = Literal["available", "on time", "delayed", "flying", "landed", "cancelled"]


def free_bags(membership: str, cabin: str, passengers: int) -> int:
    """How many checked bags of a reservation cost nothing."""
    return (FREE_BAGS[membership] + CABIN_BAGS[cabin]) * passengers


def bags_included(customer: Row, reservation: Row) -> int:
    """How many checked bags of a reservation cost its customer nothing."""
    return free_bags(customer["membership"], reservation["cabin"], len(reservation["passengers"]))


def fresh_reservation_id(rng: random.Random, taken: set[str]) -> str:
    """Draw six capitals and digits, of either at least one, that are not in use yet, and add them to ``taken``."""
    while True:
        text = "".join(rng.choice(string.ascii_uppercase + string.digits) for _ in range(6))
        if text not in taken and not text.isalpha() and not text.isdigit():
            taken.add(text)
            return text


def make_birthday(rng: random.Random) -> str:
    """Draw an adult's date of birth."""
    return f"{rng.randrange(1950, 2004)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"


def make_method(rng: random.Random, source: str, taken: set[str], amount: int | None = None) -> JsonObject:
    """Draw a credit card, a gift card or a certificate; these hold whole dollars."""
    if source == "credit_card":
        return make_payment_method(rng, source, taken)
    held = rng.choice((100, 150, 200, 250, 500)) if source == "certificate" else rng.randrange(20, 400)
    row: JsonObject = {"source": source, "id": fresh_id(rng, taken, prefix=f"{source}_", digits=7)}
    return {**row, "amount": held if amount is None else amount}


def make_customer(
    rng: random.Random, taken: set[str], *, name: tuple[str, str], methods: Sequence[JsonObject]
) -> JsonObject:
    """Draw a row of ``users`` with these payment methods, without reservations and saved passengers."""
    row = make_user(rng, taken, sources=(), name=name)
    return {
        **{field: row[field] for field in ("user_id", "name", "address", "email")},
        "dob": make_birthday(rng),
        "payment_methods": {one["id"]: one for one in methods},
        "saved_passengers": [],
        "membership": rng.choice(MEMBERSHIPS),
        "reservations": [],
    }


def make_flight(rng: random.Random, number: str, origin: str, destination: str, departs: int) -> JsonObject:
    """Draw a row of ``flights`` that departs so many minutes after midnight."""
    arrives = departs + rng.randrange(60, 331, 5)
    return {
        "flight_number": number,
        "origin": origin,
        "destination": destination,
        "scheduled_departure_time_est": _clock(departs),
        "scheduled_arrival_time_est": _clock(arrives),
    }


def _clock(minutes: int) -> str:
    """A time of day; on the day after, it ends with ``+1`` as in the public benchmark."""
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}:00" + ("+1" if minutes >= 24 * 60 else "")


def make_departure(rng: random.Random, flight: JsonObject, day: str, status: Status) -> JsonObject:
    """Draw a row of ``departures``: a flight on a day; one that can be booked has seats and prices in whole dollars."""
    row: JsonObject = {"flight_number": flight["flight_number"], "date": day, "status": status}
    if status == "available":
        row["available_seats"] = {cabin: rng.randrange(6, 20) for cabin in CABIN_BAGS}
        low = rng.randrange(50, 110)
        row["prices"] = {
            "basic_economy": low, "economy": low + rng.randrange(40, 120), "business": low + rng.randrange(180, 400)
        }  # fmt: skip
    elif status != "cancelled":
        late = rng.randrange(90, 200) if status == "delayed" else rng.randrange(0, 25)
        times = [_moment(day, flight[f"scheduled_{end}_time_est"], late) for end in ("departure", "arrival")]
        names = {"landed": ("actual", "actual"), "flying": ("actual", "estimated")}.get(status, ("estimated",) * 2)
        for kind, end, time in zip(names, ("departure", "arrival"), times, strict=True):
            row[f"{kind}_{end}_time_est"] = time
    return row


def _moment(day: str, clock: str, late: int) -> str:
    """Date and time of a scheduled time that is so many minutes late."""
    time = datetime.fromisoformat(f"{day}T{clock[:8]}") + timedelta(days=clock.endswith("+1"), minutes=late)
    return time.isoformat()


def make_passenger(rng: random.Random, name: tuple[str, str]) -> JsonObject:
    """Draw a passenger of this name."""
    return {"first_name": name[0], "last_name": name[1], "dob": make_birthday(rng)}


def segment(flight: Row, day: str, price: int) -> JsonObject:
    """A flight of a reservation."""
    ends = {field: flight[field] for field in ("flight_number", "origin", "destination")}
    return {**ends, "date": day, "price": price}


def cancel(row: JsonObject) -> None:
    """Cancel a reservation, and pay everything back."""
    row["status"] = "cancelled"
    row["payment_history"] += [{**payment, "amount": -payment["amount"]} for payment in row["payment_history"]]


def make_reservation(
    rng: random.Random,
    customer: JsonObject,
    legs: Sequence[tuple[JsonObject, str, int]],
    passengers: Sequence[JsonObject],
    taken: set[str],
    *,
    cabin: str,
    paid: str,
    created: str,
    round_trip: bool = False,
    insurance: str = "no",
    bags: int = 0,
) -> JsonObject:
    """Draw a row of ``reservations``, and add it to the customer's.

    Args:
        rng: Source of chance.
        customer: The row of the customer.
        legs: Flight, date and price in dollars of each segment.
        passengers: The passengers.
        taken: Identifiers in use; the new one is added.
        cabin: The cabin.
        paid: The payment method that paid for it.
        created: When it was booked.
        round_trip: Whether it leads back to where it begins.
        insurance: ``yes`` or ``no``.
        bags: Number of checked bags.
    """
    extra = max(0, bags - free_bags(customer["membership"], cabin, len(passengers)))
    fare = sum(price for _, _, price in legs) + (INSURANCE if insurance == "yes" else 0)
    row: JsonObject = {
        "reservation_id": fresh_reservation_id(rng, taken),
        "user_id": customer["user_id"],
        "origin": legs[0][0]["origin"],
        "destination": legs[0][0]["destination"] if round_trip else legs[-1][0]["destination"],
        "flight_type": "round_trip" if round_trip else "one_way",
        "cabin": cabin,
        "flights": [segment(flight, day, price) for flight, day, price in legs],
        "passengers": list(passengers),
        "payment_history": [{"payment_id": paid, "amount": fare * len(passengers) + BAG * extra}],
        "created_at": created,
        "total_baggages": bags,
        "nonfree_baggages": extra,
        "insurance": insurance,
        "status": None,
    }
    customer["reservations"].append(row["reservation_id"])
    return row
