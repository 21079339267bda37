"""Searching the timetable, over a state or a slice of it.

The functions at the end give the part of the state that a search reads, and write its observation.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from datetime import date as Date
from datetime import timedelta
from typing import Any

from simia_gym.state import Draft, State
from simia_gym.types import JsonObject, Row, ToolCall

Found = tuple[Row, Row]
"""A flight and its departure on a date."""


_FLIGHT = {
    "origin": "from",
    "destination": "to",
    "scheduled_departure_time_est": "departs",
    "scheduled_arrival_time_est": "arrives",
}
_SOLD = {"available_seats": "seats", "prices": "prices"}
"""Columns of ``flights`` and ``departures``, and their short names in a slice of a search with a stop."""


def departure_key(flight_number: object, date: object) -> str:
    """The key of a row of ``departures``."""
    return f"{flight_number}@{date}"


def direct(db: Draft, origin: object, destination: object, date: object) -> Iterator[Found]:
    """The flights between two airports that can be booked on a date, in the order of the timetable."""
    if isinstance(origin, str) and isinstance(destination, str):
        yield from _bookable(db, db.find("flights", "route", _route, (origin, destination)), date)
        yield from _packed(db, date, (origin, destination))


def onestop(db: Draft, origin: object, destination: object, date: object, tau2: bool) -> Iterator[tuple[Found, Found]]:
    """The pairs of flights by way of a third airport that can be booked.

    The second flight departs on the day on which the first arrives, not before it. With ``tau2`` times are compared as
    texts and the day after a date is a number in May 2024, as in the public benchmark's code.
    """
    if not isinstance(origin, str):
        return
    numbers = db.find("flights", "origin", _origin, origin)
    for first in (*_bookable(db, numbers, date), *_packed(db, date, (origin, None))):
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


def _packed(db: Draft, date: object, ends: tuple[str, str | None]) -> Iterator[Found]:
    """The same in a slice of a search with a stop, which has them in a table of its own; elsewhere there are none."""
    for key, row in db.rows("connecting"):
        number, _, day = key.partition("@")
        if day == date and row["from"] == ends[0] and ends[1] in (None, row["to"]):
            flight, sold = ({name: row[short] for name, short in names.items()} for names in (_FLIGHT, _SOLD))
            yield {"flight_number": number, **flight}, {"date": day, "status": "available", **sold}


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


def booked(state: State, call: ToolCall) -> str:
    """The newest reservation of the user as JSON."""
    user: Row = state.get("users", call.arguments["user_id"]) or {}
    return json.dumps(state.get("reservations", user["reservations"][-1]))


def departures_of_direct(state: State, call: ToolCall) -> dict[str, Row]:
    """The departures of the flights between two airports on a date."""
    columns = ("date", "status", "available_seats", "prices")
    return {
        departure_key(flight["flight_number"], departure["date"]): {name: departure[name] for name in columns}
        for flight, departure in direct(state.draft(), *_asked(call))
    }


def connecting(state: State, call: ToolCall) -> dict[str, Row]:
    """The flights of which connections consist, with times, seats and prices, in the order of the timetable.

    Every connection of the benchmark's code is one of these.
    """
    table, rows = state.table("flights"), {}
    for pair in onestop(state.draft(), *_asked(call), tau2=False):
        for flight, departure in pair:
            row = {short: flight[name] for name, short in _FLIGHT.items()}
            row |= {short: departure[name] for name, short in _SOLD.items()}
            rows[departure_key(flight["flight_number"], departure["date"])] = row
    numbers = {} if table is None else {key: table.place(key.partition("@")[0]) for key in rows}
    return {key: rows[key] for key in sorted(rows, key=numbers.__getitem__)}


def _asked(call: ToolCall) -> tuple[Any, Any, Any]:
    return call.arguments.get("origin"), call.arguments.get("destination"), call.arguments.get("date")
