"""Searching the timetable, over a state or a slice of it.

The functions at the end give the part of the state that a search reads, and write its observation.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator
from datetime import date as Date
from datetime import timedelta
from typing import Any

from simia_gym.state import Draft, State
from simia_gym.types import JsonObject, Row, ToolCall

Found = tuple[Row, Row]
"""A flight and its departure on a date."""


def departure_key(flight_number: object, date: object) -> str:
    """The key of a row of ``departures``."""
    return f"{flight_number}@{date}"


def direct(db: Draft, origin: object, destination: object, date: object) -> Iterator[Found]:
    """The flights between two airports that can be booked on a date, in the order of the timetable."""
    if isinstance(origin, str) and isinstance(destination, str):
        yield from _bookable(db, db.find("flights", "route", _route, (origin, destination)), date)


def onestop(db: Draft, origin: object, destination: object, date: object, tau2: bool) -> Iterator[tuple[Found, Found]]:
    """The pairs of flights by way of a third airport that can be booked.

    The second flight departs on the day on which the first arrives, not before it. With ``tau2`` times are compared as
    texts and the day after a date is a number in May 2024, as in the public benchmark's code.
    """
    if not isinstance(origin, str):
        return
    for first in _bookable(db, db.find("flights", "origin", _origin, origin), date):
        arrival = str(first[0]["scheduled_arrival_time_est"])
        time, _, later = arrival.partition("+")
        day = (_next_day_in_may(str(date)) if tau2 else _next_day(str(date))) if later else date
        for second in direct(db, first[0]["destination"], destination, day):
            if str(second[0]["scheduled_departure_time_est"]) >= (arrival if tau2 else time):
                yield first, second


def _bookable(db: Draft, numbers: list[str], date: object) -> Iterator[Found]:
    for number in numbers:
        departure = db.get("departures", departure_key(number, date))
        if departure is not None and departure["status"] == "available":
            yield db.row("flights", number), departure


def _route(_: str, flight: Row) -> Hashable:
    return flight["origin"], flight["destination"]


def _origin(_: str, flight: Row) -> Hashable:
    return str(flight["origin"])


def _next_day(date: str) -> str:
    return (Date.fromisoformat(date) + timedelta(days=1)).isoformat()


def _next_day_in_may(date: str) -> str:
    return f"2024-05-{int(date[-2:]) + 1}"


def shown(found: Found, date: object = None) -> JsonObject:
    """A flight as a search shows it; the date is shown only with connections."""
    flight, departure = found
    return {
        "flight_number": flight["flight_number"],
        "origin": flight["origin"],
        "destination": flight["destination"],
        "status": departure["status"],
        "scheduled_departure_time_est": flight["scheduled_departure_time_est"],
        "scheduled_arrival_time_est": flight["scheduled_arrival_time_est"],
        "date": date,
        "available_seats": departure["available_seats"],
        "prices": departure["prices"],
    }


def shown_pair(pair: tuple[Found, Found]) -> list[JsonObject]:
    """A connection as a search shows it."""
    return [shown(found, found[1]["date"]) for found in pair]


def airports(state: State, call: ToolCall) -> str:
    """The airports as JSON."""
    return json.dumps([row for _, row in state.rows("airports")])


def direct_flights(state: State, call: ToolCall) -> str:
    """The result of a search without a stop as JSON."""
    return json.dumps([shown(found) for found in direct(state.draft(), *_asked(call))])


def booked(state: State, call: ToolCall) -> str:
    """The newest reservation of the user as JSON."""
    user: Row = state.get("users", call.arguments["user_id"]) or {}
    return json.dumps(state.get("reservations", user["reservations"][-1]))


def departures_of_direct(state: State, call: ToolCall) -> dict[str, Row]:
    """The departures of the flights between two airports on a date."""
    return _departures(direct(state.draft(), *_asked(call)))


def flights_of_onestop(state: State, call: ToolCall) -> dict[str, Row]:
    """The flights of which connections consist, in the order of the timetable."""
    flights = {str(flight["flight_number"]): flight for flight, _ in _connecting(state, call)}
    table = state.table("flights")
    return {key: flights[key] for key in sorted(flights, key=table.place)} if table else {}


def departures_of_onestop(state: State, call: ToolCall) -> dict[str, Row]:
    """The departures of which connections consist."""
    return _departures(_connecting(state, call))


def _connecting(state: State, call: ToolCall) -> list[Found]:
    # Every connection of the benchmark's code is one of these.
    return [found for pair in onestop(state.draft(), *_asked(call), tau2=False) for found in pair]


def _departures(found: Iterable[Found]) -> dict[str, Row]:
    columns = ("date", "status", "available_seats", "prices")
    return {
        departure_key(flight["flight_number"], departure["date"]): {name: departure[name] for name in columns}
        for flight, departure in found
    }


def _asked(call: ToolCall) -> tuple[Any, Any, Any]:
    return call.arguments.get("origin"), call.arguments.get("destination"), call.arguments.get("date")
