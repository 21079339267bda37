"""Which flights a customer wants: one or two ways, direct or with a stop, by number, by time, or the cheapest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, product
from typing import Any, TypeAlias

from simia_gym.envs.airline.trips import date_text, time_text, trip
from simia_gym.service import Case, No, Option
from simia_gym.types import JsonObject, Row

CHEAPEST = "cheapest"
"""The value of wished flights that says no more than this."""
AND = " + "
"""Between the dates of two ways, and between the flights of a connection."""
THEN = " / "
"""Between the flights of two ways."""
Connection: TypeAlias = Sequence[Row]
"""A flight, or two with a stop between them, as a search shows them."""

_CHEAPEST = re.compile(r"\b(?:cheapest|lowest (?:price|fare)|least expensive|costs? (?:the )?least)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\b[A-Z]{2}\d{3}\b")
_TIME = re.compile(r"\b(?P<hour>\d\d?):(?P<minute>\d\d)(?: ?(?P<half>[ap])\.?m\b)?", re.IGNORECASE)


def direct(case: Case, origin: str, destination: str, day: str) -> list[Row]:
    """The flights without a stop on a route that can be booked on a day."""
    found = case.read("search_direct_flight", origin=origin, destination=destination, date=day) or ()
    return [{**one, "date": day} for one in found]


def numbers(flights: Iterable[Row]) -> str:
    """The numbers of flights."""
    return AND.join(one["flight_number"] for one in flights)


def by_way(row: Row) -> list[Connection]:
    """The flights of a reservation, those of each way together."""
    flights: list[Row] = row["flights"]
    there = next((at for at, leg in enumerate(flights, 1) if leg["destination"] == row["destination"]), len(flights))
    return [flights[:there], flights[there:]] if row["flight_type"] == "round_trip" else [flights]


def changed_ways(case: Case) -> list[int]:
    """Which ways of the reservation change: 0 is the way out, and 1 the way back."""
    every = range(len(by_way(trip(case))))
    one = {"out": 0, "back": 1}.get(case.slot("part"), len(every))
    return [one] if one in every else [*every]


def _routes(case: Case) -> list[tuple[str, str]]:
    """From where to where the ways go that the customer wants to fly, or to fly otherwise."""
    if case.has("reservation"):
        row = trip(case)
        there, ways = (row["origin"], row["destination"]), changed_ways(case)
    else:
        origin, _, destination = case.slot("route").partition("-")
        there, ways = (origin, destination), [0, 1] if case.slot("trip_type") == "round_trip" else [0]
    return [there[::-1] if way else there for way in ways]


def offers(case: Case) -> list[list[Connection]]:
    """What the customer can choose from, for each way; the flights that are booked are no choice."""
    stops, days, found = case.slot("stops"), case.slot("date").split(AND), list[list[Connection]]()
    booked = trip(case)["flights"] if case.has("reservation") else ()
    own = {*map(_key, booked)}
    for (origin, destination), day in zip(_routes(case), days, strict=False):
        ways: list[Connection] = [] if stops == "one" else [[one] for one in direct(case, origin, destination, day)]
        if stops != "none":
            ways += case.read("search_onestop_flight", origin=origin, destination=destination, date=day) or ()
        found.append([way for way in ways if not own.issuperset(map(_key, way))])
    return found


def party_size(case: Case) -> int:
    """How many seats are needed on each flight."""
    return len(trip(case)["passengers"] if case.has("reservation") else case.slot("passengers"))


def price(flights: Iterable[Row], cabin: str) -> int:
    """What a seat costs on all of these flights; those that stay have the price for which they were booked."""
    return sum(int(one["price"] if "price" in one else one["prices"][cabin]) for one in flights if one)


def picked(case: Case) -> list[Connection]:
    """The flights that the customer wants on each way; none on a way on which they cannot be had."""
    found, wanted = offers(case), case.slot("flight")
    if wanted != CHEAPEST:
        named = wanted.split(THEN)
        return [
            next((one for one in several if numbers(one) == name), [])
            for several, name in zip(found, named, strict=False)
        ]
    return [_cheapest(case, several) for several in found]


def _cheapest(case: Case, several: Iterable[Connection]) -> Connection:
    cabin, count = case.slot("cabin"), party_size(case)
    fitting = [one for one in several if all(flight["available_seats"][cabin] >= count for flight in one)]
    return min(fitting, key=lambda one: price(one, cabin), default=[])


def flights_wanted(case: Case) -> list[Row]:
    """All flights as the customer wants them; an empty row where they cannot be had.

    Those of his reservation that stay as they are have a ``price``; in another cabin all are sold anew.
    """
    if "reservation" not in case.known:
        return [flight for way in picked(case) for flight in way or ({},)]
    row = trip(case)
    ways, own = by_way(row), {_key(leg): leg for leg in row["flights"]}
    if case.has("part"):
        for place, way in zip(changed_ways(case), picked(case), strict=False):
            ways[place] = [own.get(_key(one), one) for one in way] or ({},)
    flights = [flight for way in ways for flight in way]
    return flights if case.slot("cabin") == row["cabin"] else [_sold(case, one) for one in flights]


def _key(flight: Row) -> tuple[str, str]:
    return flight["flight_number"], flight["date"]


def _sold(case: Case, leg: Row) -> Row:
    """A flight as it is sold now; empty if it cannot be booked any more."""
    if "price" not in leg:
        return leg
    found = direct(case, leg["origin"], leg["destination"], leg["date"])
    return next((one for one in found if one["flight_number"] == leg["flight_number"]), {})


def seats_left(case: Case) -> No | None:
    """All flights that are booked anew can be booked in the cabin for everybody."""
    cabin, count = case.slot("cabin"), party_size(case)
    new = [one for one in flights_wanted(case) if "price" not in one]
    return No({"count": count}) if any(not one or one["available_seats"][cabin] < count for one in new) else None


def as_booked(flights: Iterable[Row]) -> list[JsonObject]:
    """Flights as the tools take them: number and date."""
    return [{"flight_number": one["flight_number"], "date": one["date"]} for one in flights if one]


def in_words(flights: Iterable[Row]) -> str:
    """Flights that are booked anew, as they are proposed."""
    return " and ".join(
        f"flight {one['flight_number']} on {date_text(one['date'])} at {_leaves(one)}"
        for one in flights
        if one and "price" not in one
    )


def _leaves(flight: Row) -> str:
    return time_text(flight["scheduled_departure_time_est"])


def flights_offered(case: Case) -> dict[str, Option]:
    """The flights on all ways by number and time of departure, and the cheapest if there is one such."""
    options, cabin = {}, case.slot("cabin")
    found = offers(case)
    for ways in product(*found):
        key = THEN.join(map(numbers, ways))
        by_number = [f"flight{'s' * (len(way) > 1)} {numbers(way).replace(AND, ' and ')}" for way in ways]
        times = [f"the {'one' if len(ways) > 1 else 'flight'} at {_leaves(way[0])}" for way in ways]
        say = (" there and ".join(times), " there and ".join(by_number))
        options[key] = Option(tuple(f"{text} back" for text in say) if len(ways) > 1 else say)
    least = [_cheapest(case, several) for several in found]
    if all(least) and all(
        [price(one, cabin) for one in several].count(price(best, cabin)) == 1
        for several, best in zip(found, least, strict=True)
    ):
        options[CHEAPEST] = Option(("the cheapest one", "whichever is the cheapest"))
    return options


def flights_named(text: str, case: Case) -> str | None:
    """The flights that a text names by number, by time of departure, or as the cheapest."""
    if _CHEAPEST.search(text):
        return CHEAPEST
    said, clocks = _NUMBER.findall(text), [_clock(match) for match in _TIME.finditer(text)]
    if not said and not clocks:
        return None
    named = []
    for several in offers(case):
        found = (numbers(one) for one in several if _is_named(one, said, clocks))
        named.append(next(found, AND.join(said or clocks)))
    return THEN.join(named)


def _is_named(way: Connection, said: Sequence[str], clocks: Sequence[str]) -> bool:
    if said:
        return all(one["flight_number"] in said for one in way)
    return way[0]["scheduled_departure_time_est"][:5] in clocks


def _clock(time: re.Match[str]) -> str:
    hour = int(time["hour"]) % 12 + 12 * (time["half"].lower() == "p") if time["half"] else int(time["hour"])
    return f"{hour:02d}:{time['minute']}"


def flights_expected(case: Case, value: str) -> list[JsonObject]:
    """A proposal names each flight by number or time; it may also list those that stay."""
    stay = [one["flight_number"] for one in flights_wanted(case) if one]
    named = [
        [one["flight_number"], _leaves(one), one["scheduled_departure_time_est"][:5]] for one in chain(*picked(case))
    ]
    return [{"any": texts, "avoid": [], "beside": stay} for texts in named]


def part_left(text: str, case: Case) -> Any:
    """A trip without a way back changes as a whole."""
    return "all" if trip(case)["flight_type"] == "one_way" else None
