"""Random calls of the airline's tools, and what none of them changes."""

from __future__ import annotations

import random
from typing import Any

from simia_gym.domain.domain import Domain
from simia_gym.state import State
from simia_gym.types import JsonObject, Row

MOST = 8_000
"""Bytes of a slice."""
OFTEN = ("book", "cancel_", "update", "send")
"""In the names of tools that are called more often than others."""
CODES = CODES_OF_BENCHMARK = {"not_found", "not_available", "insufficient_balance", "mismatch", "limit_reached"}
"""Errors that such calls meet."""


def row_of(state: State, table: str, key: str) -> Row:
    row = state.get(table, key)
    assert row is not None
    return row


def arguments_for(rng: random.Random, domain: Domain, name: str, state: State) -> JsonObject:
    """Arguments that fit the schema, mostly of things that exist and often do not fit together."""
    reservation = row_of(state, "reservations", rng.choice([*state.keys("reservations")]))
    departure = row_of(state, "departures", rng.choice([*state.keys("departures")]))
    leg = rng.choice(reservation["flights"])
    user = row_of(state, "users", reservation["user_id"])
    flights = [{"flight_number": each["flight_number"], "date": each["date"]} for each in reservation["flights"]]
    other = [{"flight_number": departure["flight_number"], "date": departure["date"]}]
    cabin = rng.choice(["basic_economy", "economy", "business"])
    people = [{"first_name": "Ana", "last_name": "Cho", "dob": "1990-01-01"}] * rng.choice((1, 2))
    price = departure.get("prices", {}).get(cabin, 1) * len(people)
    pool: dict[str, Any] = {
        "user_id": rng.choice([user["user_id"]] * 4 + ["nobody"]),
        "reservation_id": rng.choice([reservation["reservation_id"]] * 6 + ["A/~0"]),
        "origin": leg["origin"],
        "destination": rng.choice([leg["destination"], reservation["destination"], "DEN"]),
        "date": rng.choice([leg["date"], departure["date"], "2024-05-18"]),
        "flight_number": rng.choice([leg["flight_number"], "SA999"]),
        "flight_type": "one_way",
        "cabin": rng.choice([cabin, reservation["cabin"]]) if name.startswith("update") else cabin,
        "flights": rng.choice([flights, other, flights[:1]]) if name.startswith("update") else other,
        "passengers": rng.choice([people, [*reservation["passengers"]]]) if name.startswith("update") else people,
        "payment_methods": [{"payment_id": rng.choice([*user["payment_methods"]]), "amount": price}],
        "payment_id": rng.choice([*user["payment_methods"], "none"]),
        "total_baggages": rng.choice((1, 2, 3)),
        "nonfree_baggages": 0 if name.startswith("book") else rng.choice((0, 1, 2)),
        "insurance": "no",
        "amount": 100,
        "expression": rng.choice(["2 * 3", "2 *"]),
        "summary": "A pet.",
    }
    return {each: pool[each] for each in domain.specs[name].parameters["properties"]}


def kept(state: State) -> int:
    """Seats left on departures that are sold, and those that reservations hold there; no call may change the sum."""
    total = 0
    for _, row in state.rows("departures"):
        total += sum(row.get("available_seats", {}).values())
    for _, row in state.rows("reservations"):
        keys = [f"{leg['flight_number']}@{leg['date']}" for leg in row["flights"] if row["status"] is None]
        total += len(row["passengers"]) * sum("prices" in row_of(state, "departures", key) for key in keys)
    return total
