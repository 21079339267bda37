"""Who flies: how customers say it, what policy says about it, and how it is drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from simia_gym.envs._tau2.customers import full_name
from simia_gym.envs.airline.people import make_passenger
from simia_gym.envs.airline.trips import profile, trip
from simia_gym.envs.airline.wishes.draw import draw_trip, settle
from simia_gym.service import Case, Cast, Drawn, Member, No
from simia_gym.types import JsonObject, Row

MOST = 5
"""How many passengers a reservation may have."""
ME = "me"
"""The customer among those who fly; everybody else is a name, with a date of birth if the customer tells it."""

_PERSON = re.compile(
    r"(?P<first_name>[A-Z][\w'-]*) (?P<last_name>[A-Z][\w'-]*)"
    r"(?:,? \(?(?i:(?:born|date of birth|dob)(?: on|:)? )?(?P<dob>\d{4}-\d\d-\d\d|\d\d?/\d\d?/\d{4})\b)?"
)
_ALONE = re.compile(
    r"\b(?:just|only) (?:for )?(?:me|myself)\b|\b(?:me|myself),? (?:only|alone|nobody else)\b"
    r"|\b(?:by myself|on my own)\b",
    re.IGNORECASE,
)
_PARTY = re.compile(r"\b(?i:me|myself)(?:,|,? (?i:and|plus|with|as well as|(?:together|along) with)) [A-Z][^.?!]*")


def party_text(party: Sequence[Any]) -> str:
    """Who flies, as customers say it: ``me and Lena Holm (born 1987-03-02)``."""
    if len(party) == 1:
        return "just me"
    said = [one if one == ME else full_name(one) + (f" (born {one['dob']})" if "dob" in one else "") for one in party]
    return f"{', '.join(said[:-1])} and {said[-1]}"


def party_named(text: str, case: Case) -> list[Any] | None:
    """Those who fly, as a text names them."""
    found = _PARTY.search(text)
    if found is None:
        return [ME] if _ALONE.search(text) else None
    others = [match.groupdict() for match in _PERSON.finditer(found[0])]
    for one in others:
        if "/" in (one["dob"] or ""):
            month, day, year = one["dob"].split("/")
            one["dob"] = f"{year}-{month:0>2}-{day:0>2}"
    return [ME, *({name: part for name, part in one.items() if part} for one in others)]


def party_expected(case: Case, value: Sequence[Any]) -> list[JsonObject]:
    """A proposal names everybody who flies with the customer."""
    return [{"any": [full_name(one)], "avoid": []} for one in value if one != ME]


def in_full(party: Sequence[Row]) -> str:
    """Passengers with their dates of birth."""
    return " and ".join(f"{full_name(one)} (born {one['dob']})" for one in party)


def people(case: Case, known: Sequence[Row]) -> list[JsonObject]:
    """Those who fly, with the dates of birth of those who are known or stand in the profile."""
    own = profile(case)
    births = {full_name(row): row["dob"] for row in (*own["saved_passengers"], *known)}
    party = [{**own["name"], "dob": own["dob"]} if one == ME else one for one in case.slot("passengers")]
    return [{**one, "dob": one.get("dob") or births.get(full_name(one), "")} for one in party]


def five_at_most(case: Case) -> No | None:
    """A reservation has at most five passengers."""
    return No({"count": len(case.slot("passengers"))}) if len(case.slot("passengers")) > MOST else None


def same_number(case: Case) -> No | None:
    """Passengers can be replaced, and neither added nor taken off."""
    count = len(trip(case)["passengers"])
    return None if len(case.slot("passengers")) == count else No({"count": count})


def of_passengers(case: Case) -> JsonObject:
    """Who is to fly from now on."""
    there = people(case, trip(case)["passengers"])
    return {"people": there, "who": in_full(there)}


def some_people(cast: Cast, who: Member, count: int) -> list[Any]:
    """The customer and others: saved passengers, or people whose date of birth he tells."""
    saved = [_name_of(row) for row in who.row["saved_passengers"]]
    new = [make_passenger(cast.rng, cast.name()) for _ in range(count)]
    return [ME, *cast.rng.sample([*saved, *new], count - 1)]


def _name_of(person: Row) -> JsonObject:
    return {"first_name": person["first_name"], "last_name": person["last_name"]}


def draw_passengers(cast: Cast, who: Member) -> Drawn:
    """A reservation of several passengers, one of whom is to be replaced by somebody new."""
    drawn = draw_trip(cast, who, passengers=cast.rng.choice((2, 3, 4)))
    party = [ME, *map(_name_of, drawn.rows["trip"]["passengers"][1:])]
    party[cast.rng.randrange(1, len(party))] = make_passenger(cast.rng, cast.name())
    return Drawn({**drawn.slots, "passengers": party}, drawn.rows)


def _fly(cast: Cast, drawn: Drawn, who: Member, count: int) -> None:
    drawn.slots["passengers"] = some_people(cast, who, count)


five_fly, six_fly = partial(_fly, count=MOST), partial(_fly, count=MOST + 1)


def one_less_booked(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The customer wants one passenger more than the reservation has."""
    row, new = drawn.rows["trip"], drawn.slots["passengers"]
    row["passengers"] = [row["passengers"][0], *(one for one in row["passengers"] if _name_of(one) in new)]
    settle(row)


def one_more_booked(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The customer wants one passenger fewer than the reservation has."""
    drawn.rows["trip"]["passengers"].append(make_passenger(cast.rng, cast.name()))
    settle(drawn.rows["trip"])


def misspelt(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The last name of a passenger is wrong in the reservation."""
    row, new = drawn.rows["trip"], drawn.slots["passengers"]
    right = next(one for one in new if "dob" in one)
    wrong = next(one for one in row["passengers"][1:] if _name_of(one) not in new)
    wrong.update(first_name=right["first_name"], dob=right["dob"])
