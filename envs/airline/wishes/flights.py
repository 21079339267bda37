"""Which of some flights a customer wants, by number, by time of departure, or as the cheapest."""

from __future__ import annotations

import re
from collections.abc import Iterable

from simia_gym.envs.airline.trips import time_text, trip
from simia_gym.service import Case, No, Option
from simia_gym.types import JsonObject, Row

CHEAPEST = "cheapest"
"""The value of a wished flight that says no more than this."""
_CHEAPEST = re.compile(r"\b(?:cheapest|lowest (?:price|fare)|least expensive|costs? (?:the )?least)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\b[A-Z]{2}\d{3}\b")
_TIME = re.compile(r"\b(?P<hour>\d\d?):(?P<minute>\d\d)(?: ?(?P<half>[ap])\.?m\b)?", re.IGNORECASE)


def bookable(case: Case, origin: str, destination: str, day: str) -> list[Row]:
    """The flights on a route that can be booked on a day."""
    found: list[Row] = case.read("search_direct_flight", origin=origin, destination=destination, date=day) or []
    return found


def chosen(found: Iterable[Row], wanted: str, cabin: str, count: int) -> Row | None:
    """The flight of this number, or the cheapest with seats for everybody."""
    if wanted != CHEAPEST:
        return next((one for one in found if one["flight_number"] == wanted), None)
    fitting = [one for one in found if one["available_seats"][cabin] >= count]
    return min(fitting, key=lambda one: int(one["prices"][cabin]), default=None)


def choices(case: Case) -> tuple[list[Row], str, int]:
    """The flights that the customer can choose from, the cabin, and how many seats are needed.

    They are those of the route and date that he wants to book, or of the date that he wants instead of the first flight
    of his reservation.
    """
    if "reservation" not in case.known:
        origin, _, destination = case.slot("route").partition("-")
        found = bookable(case, origin, destination, case.slot("date"))
        return found, case.slot("cabin"), len(case.slot("passengers"))
    row, day, found = trip(case), case.slot("date"), []
    for old in row["flights"][:1]:
        found = bookable(case, old["origin"], old["destination"], day)
        found = [one for one in found if (one["flight_number"], day) != (old["flight_number"], old["date"])]
    return found, row["cabin"], len(row["passengers"])


def flight(case: Case) -> Row | None:
    """The flight that the customer wants; none if it cannot be had."""
    found, cabin, count = choices(case)
    return chosen(found, case.slot("flight"), cabin, count)


def flight_has_seats(case: Case) -> No | None:
    """The flight can be booked for everybody."""
    _, cabin, count = choices(case)
    row = flight(case)
    return No({"count": count}) if row is None or row["available_seats"][cabin] < count else None


def flights_offered(case: Case) -> dict[str, Option]:
    """The flights by number and time of departure, and the cheapest if there is one such."""
    found, cabin, count = choices(case)
    times = [one["scheduled_departure_time_est"][:5] for one in found]
    options = {}
    for one, time in zip(found, times, strict=True):
        number, at = one["flight_number"], time_text(time)
        by_time = (f"the one that leaves at {at}", f"the flight at {at}") if times.count(time) == 1 else ()
        options[number] = Option((*by_time, f"flight {number}"), (number, at))
    cheapest = chosen(found, CHEAPEST, cabin, count)
    prices = [one["prices"][cabin] for one in found]
    if cheapest is not None and prices.count(cheapest["prices"][cabin]) == 1:
        options[CHEAPEST] = Option(("the cheapest one", "whichever flight is the cheapest"))
    return options


def flight_named(text: str, case: Case) -> str | None:
    """The flight that a text names by number, by time of departure, or as the cheapest."""
    if _CHEAPEST.search(text):
        return CHEAPEST
    number, time = _NUMBER.search(text), _TIME.search(text)
    if number is not None or time is None:
        return number and number[0]
    hour = int(time["hour"]) % 12 + 12 * (time["half"].lower() == "p") if time["half"] else int(time["hour"])
    clock = f"{hour:02d}:{time['minute']}"
    at = (one["flight_number"] for one in choices(case)[0] if one["scheduled_departure_time_est"][:5] == clock)
    return next(at, time[0])


def flight_expected(case: Case, value: str) -> list[JsonObject]:
    """A proposal names the flight by number or time."""
    row = flight(case)
    if row is None:
        return []
    time = row["scheduled_departure_time_est"]
    return [{"any": [row["flight_number"], time_text(time), time[:5]], "avoid": []}]
