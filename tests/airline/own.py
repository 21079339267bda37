"""What the shared tests of the benchmark's worlds need of the airline: sizes, mistakes, random calls, gold calls."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from simia_gym.domain.domain import Domain
from simia_gym.envs.airline.wishes.flights import AND, CHEAPEST, THEN, as_booked, by_way, numbers
from simia_gym.state import State
from simia_gym.types import JsonObject, Row, ToolCall

ROWS = {"users": 60, "reservations": 150, "flights": 120, "departures": 1680, "airports": 20, "clock": 1}
ROWS_OF_BENCHMARK = {"users": 500, "reservations": 2000, "flights": 300, "departures": 9000}
RECORDED = {"pairs": 329, "episodes": 25}
TASKS = 30
"""Tasks of the benchmark to train on."""
GRANTED = {"cancel": 8, "change_cabin": 3, "change_flights": 3, "baggage": 4, "passengers": 2, "book": 5}
"""How often the rules grant each wish in these."""
DEVIATIONS = {
    # The customer wants to give up the seat for somebody else. The reservation is insured, and five days old.
    ("39", "cancel_reservation"): "cancellable",
}
"""Gold actions that the rules refuse, by task and tool, with the rule."""
SOUND = ("reservations", None)
"""A table, and the status of a row that the mistakes are made in."""
BROKEN: Mapping[str, Callable[[Any, Any], object]] = {
    "money_adds_up": lambda row, user: row.update(insurance="yes" if row["insurance"] == "no" else "no"),
    "flights_are_in_the_timetable": lambda row, user: row["flights"][0].update(date="2025-01-01"),
    "payment_methods_are_owned": lambda row, user: row["payment_history"][0].update(payment_id="gift_card_1"),
    "reservations_are_listed": lambda row, user: user["reservations"].clear(),
}
"""A mistake for each invariant, in such a row or its customer's."""
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


ILL = "7"
"""The task whose customer is ill; those of the others give no reason to cancel that insurance covers."""
CHEAP = ("14", "15", "23")
"""The tasks whose customers want the cheapest flights, direct or not; those of the others are asked for by number."""


def _ways(state: State, trip: Row) -> list[list[Row]]:
    """The flights of a reservation or of a call, those of each way together."""
    flights = [{**leg, **(state.get("flights", leg["flight_number"]) or {})} for leg in trip["flights"]]
    return [[*way] for way in by_way({**trip, "flights": flights})]


def _flights(ways: list[list[Row]], task: str) -> JsonObject:
    """What a customer wants who shall get these flights."""
    wanted = {"date": AND.join(way[0]["date"] for way in ways)}
    if task in CHEAP:
        return {**wanted, "stops": "any", "flight": CHEAPEST}
    stops = {"one" if len(way) > 1 else "none" for way in ways}
    return {**wanted, "stops": stops.pop() if len(stops) == 1 else "any", "flight": THEN.join(map(numbers, ways))}


def wish(call: ToolCall, state: State, row: Row | None, task: str) -> tuple[str, JsonObject]:
    """The wish that a gold call grants, and what its customer wants; no wish for one that the service does not have."""
    given = call.arguments
    slots = {"reservation": given.get("reservation_id"), "payment": given.get("payment_id")}
    match call.name:
        case "cancel_reservation":
            return "cancel", {**slots, "reason": "health" if task == ILL else "plans"}
        case "update_reservation_flights":
            assert row is not None
            slots["cabin"] = given["cabin"]
            old, new = _ways(state, row), _ways(state, {**row, "flights": given["flights"]})
            changed = [at for at, way in enumerate(new) if as_booked(way) != as_booked(old[at])]
            if not changed:
                return "change_cabin", slots
            part = "all" if len(changed) == len(old) else ("out", "back")[changed[0]]
            return "change_flights", {**slots, "part": part, **_flights([new[at] for at in changed], task)}
        case "update_reservation_baggages":
            return "baggage", {**slots, "bags": given["total_baggages"]}
        case "update_reservation_passengers":
            return "passengers", {**slots, "passengers": given["passengers"]}
        case "book_reservation":
            return "book", {
                "route": f"{given['origin']}-{given['destination']}",
                "trip_type": given["flight_type"],
                **{name: given[name] for name in ("cabin", "passengers", "insurance")},
                "bags": given["total_baggages"],
                "payment": AND.join(payment["payment_id"] for payment in given["payment_methods"]),
                **_flights(_ways(state, given), task),
            }
    return "", {}
