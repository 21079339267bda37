"""Checked bags: how many are free, what more of them cost, and how reservations with bags are drawn; and lookups."""

from __future__ import annotations

import re
from functools import partial

from simia_gym.envs.airline.people import BAG, bags_included
from simia_gym.envs.airline.trips import CABINS, TODAY, account, date_text, dollars, held, profile, time_text, trip
from simia_gym.envs.airline.wishes.draw import draw_trip, method_of, settle
from simia_gym.envs.airline.wishes.flights import direct
from simia_gym.envs.airline.wishes.reading import date_named
from simia_gym.language import NUMBER_WORDS
from simia_gym.service import Case, Cast, Drawn, Member, No, Option
from simia_gym.types import JsonObject

COUNTS = ("no", *NUMBER_WORDS[1:15])
_WORDS = {word: count for count, word in enumerate(COUNTS)} | {"zero": 0, "none": 0, "single": 1}
_OF_BAGS = r"(?= (?:[a-z]+ ){0,3}(?:bags?|suitcases?|baggages?|luggage)\b)"
_NOUNS = ("checked bag", "bag", "suitcase", "piece", "baggage")
_BAGS = re.compile(rf"(?<![\w$.,:/-])(\d\d?|{'|'.join(_WORDS)}){_OF_BAGS}", re.IGNORECASE)
_ALONE = re.compile(
    rf"^[^\d(]{{0,50}}(?<![\w$])(\d\d?|{'|'.join((*COUNTS[2:], 'zero'))}|(?:(?<=just )|(?<=only )|^)(?:one|none))"
    r"(?![\w:/-]|\.\d| [ap]\.?m\b| (?:of|way)\b)[^\d(]{0,50}$",
    re.IGNORECASE,
)
"""A number without a word for bags, in an answer that says little else."""
_FURTHER = re.compile(r"\b(?:add|more|extra|additional|another)\b", re.IGNORECASE)
_NO_LEG: JsonObject = {"flight_number": "", "origin": "", "destination": "", "date": TODAY}


def counts_of_bags(case: Case) -> dict[int, Option]:
    """Numbers of checked bags in words and digits."""
    found = {}
    for count, word in enumerate(COUNTS):
        noun = "bag" if count == 1 else "bags"
        say = (f"{word} checked {noun}", f"{count} checked {noun}")
        found[count] = Option(say, (*say, f"{word} {noun}", f"{count} {noun}", f"bags: {count}", f"baggages: {count}"))
    return found


def bags_named(text: str, case: Case) -> int | None:
    """The number of bags that a text tells; how many are added to those that are booked is no such number."""
    found = _BAGS.findall(text) or (_ALONE.findall(text) if date_named(text, case) is None else [])
    if not found or _FURTHER.search(text):
        return None
    said = found[-1].lower()
    return int(said) if said.isdigit() else _WORDS[said]


def bags_expected(case: Case, value: int) -> list[JsonObject]:
    """A proposal names the number of bags."""
    named = [f"{count} {noun}{'' if value == 1 else 's'}" for count in (value, COUNTS[value]) for noun in _NOUNS]
    return [{"any": [*named, f"{value} luggage", f"to {value}"], "avoid": []}]


def _free(case: Case) -> int:
    """How many checked bags of the reservation cost nothing."""
    row = trip(case)
    return bags_included(profile(case), row)


def _charged(case: Case) -> int:
    """How many bags the reservation then has that are not free."""
    return max(0, int(case.slot("bags")) - _free(case))


def _due(case: Case) -> int:
    """What the bags cost that are added."""
    return BAG * max(0, _charged(case) - int(trip(case)["nonfree_baggages"]))


def only_more(case: Case) -> No | None:
    """Bags can be added, and not be taken off."""
    there = trip(case)["total_baggages"]
    return No({"there": there}) if case.slot("bags") < there else None


def covers_bags(case: Case) -> No | None:
    """A gift card must hold the price of the bags."""
    due = _due(case)
    return No({"due": dollars(due)}) if held(case) < due else None


def of_bags(case: Case) -> JsonObject:
    """The bags that are then charged, and what that costs."""
    due, paid = _due(case), account(case, case.slot("payment"))
    price = f"The price of {dollars(due)} is charged to {paid}" if due else f"That is free; {paid} pays nothing"
    return {"charged": _charged(case), "price": price}


def of_free_bags(case: Case) -> JsonObject:
    """How many bags are free."""
    count = _free(case)
    return {"count": str(count), "aloud": COUNTS[count]}


def of_balance(case: Case) -> JsonObject:
    """What the gift cards or certificates of the profile hold."""
    rows = [row for row in profile(case)["payment_methods"].values() if row["source"] == case.slot("voucher")]
    return {"amount": f"{sum(row['amount'] for row in rows):.2f}".removesuffix(".00")}


def of_departure(case: Case) -> JsonObject:
    """When the first flight of the reservation leaves."""
    leg = next(iter(trip(case)["flights"]), _NO_LEG)
    found = direct(case, leg["origin"], leg["destination"], leg["date"])
    times = {one["flight_number"]: one["scheduled_departure_time_est"] for one in found}
    time = times.get(leg["flight_number"], "00:00:00")
    return {"number": leg["flight_number"], "day": date_text(leg["date"]), "time": time_text(time), "clock": time[:5]}


def _has_bags(drawn: Drawn, who: Member, bags: int) -> None:
    """The reservation has so many bags."""
    row = drawn.rows["trip"]
    free = bags_included(who.row, row)
    row.update(total_baggages=bags, nonfree_baggages=max(0, bags - free))
    settle(row)


def draw_bags(cast: Cast, who: Member) -> Drawn:
    """A reservation with some bags about the free allowance, to which one or two are added."""
    drawn = draw_trip(cast, who, passengers=cast.rng.choice((1, 1, 2)))
    row = drawn.rows["trip"]
    free = bags_included(who.row, row)
    there = max(0, free - cast.rng.randrange(3))
    _has_bags(drawn, who, there)
    method = method_of(who, cast.rng.choice(("credit_card", "gift_card")))
    if "amount" in method:
        method["amount"] += 2 * BAG
    drawn.slots.update(bags=there + cast.rng.choice((1, 2)), payment=method["id"])
    return drawn


def has_more_bags(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The reservation has more bags than are wanted."""
    _has_bags(drawn, who, drawn.slots["bags"] + cast.rng.choice((1, 2)))


def no_more_bags(cast: Cast, drawn: Drawn, who: Member) -> None:
    """The customer wants the bags that the reservation has."""
    drawn.slots["bags"] = drawn.rows["trip"]["total_baggages"]


def _one_over(cast: Cast, drawn: Drawn, who: Member, over: int, amount: int | None = None) -> None:
    """The customer wants as many bags as are free, or one more, which maybe a gift card of so much pays."""
    row = drawn.rows["trip"]
    who.row["membership"] = cast.rng.choice(("silver", "gold"))
    free = bags_included(who.row, row)
    _has_bags(drawn, who, free - cast.rng.randrange(1, min(free, 2) + 1))
    drawn.slots["bags"] = free + over
    if amount is not None:
        card = method_of(who, "gift_card")
        card["amount"], drawn.slots["payment"] = amount, card["id"]


last_free, gift_pays_bag = partial(_one_over, over=0), partial(_one_over, over=1, amount=BAG)
gift_short_of_bag = partial(_one_over, over=1, amount=BAG - 1)


def draw_allowance(cast: Cast, who: Member) -> Drawn:
    """A reservation with several free bags."""
    cabins = CABINS[1:] if who.row["membership"] == "regular" else CABINS
    return draw_trip(cast, who, cabin=cast.rng.choice(cabins), passengers=cast.rng.choice((2, 3)))


def draw_voucher(cast: Cast, who: Member) -> Drawn:
    """Whether it is the gift cards or the certificates that the customer asks about."""
    return Drawn({"voucher": cast.rng.choice(("gift_card", "certificate"))})
