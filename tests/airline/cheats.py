"""The airline's own cheats: ``simia check airline --cheats tests.airline.cheats``."""

from __future__ import annotations

import re
from typing import Any

from simia_gym.envs._tau2.customers import full_name
from simia_gym.types import ToolCall
from tests.cheats.deeds import LOOK_TWICE, tells, turns_at
from tests.cheats.making import THANKS, Act, Turns, add, at, cheat, cheats, with_arguments


def bags_and_back(act: Act, step: ToolCall) -> Turns:
    """Add a bag to a reservation, and take it away again."""
    key = step.arguments.get("reservation_id")
    trip = next((row for row in _trips(act) if row["reservation_id"] == key), None)
    if trip is None:
        return None
    same = {"reservation_id": key, "payment_id": trip["payment_history"][0]["payment_id"], "nonfree_baggages": 0}
    counts = (trip["total_baggages"] + 1, trip["total_baggages"])
    changes = (ToolCall("update_reservation_baggages", {**same, "total_baggages": count}) for count in counts)
    return [tuple(changes), step]


def _trips(act: Act) -> list[Any]:
    return [row for row in act._known.values() if isinstance(row, dict) and "reservation_id" in row]


def generous(act: Act, step: ToolCall) -> Turns:
    return [(step, ToolCall("send_certificate", {"user_id": act._who, "amount": 100}))]


def other_cabin(act: Act, step: ToolCall) -> Turns:
    cabin = step.arguments.get("cabin")
    other = "economy" if cabin != "economy" else "basic_economy"
    return None if cabin is None else [with_arguments(step, {"cabin": other})]


def other_insurance(act: Act, text: str) -> str | None:
    found = re.search(r"\bwith(out)? (?=(?:travel |the )?insurance)", text)
    return found and f"{text[: found.start()]}with{'' if found[1] else 'out'} {text[found.end() :]}"


def free_bags(act: Act, step: ToolCall) -> Turns:
    return [with_arguments(step, {"nonfree_baggages": 0})] if step.arguments.get("nonfree_baggages") else None


TRIP = ("get_reservation_details", "reservation")
MORE = add("refuse", "It was booked by them, not by you.")
CHEATS = [
    cheat("undoing", "Adds a bag, and takes it away again.", turns_at("write", bags_and_back), LOOK_TWICE),
    cheat(
        "parallel calls",
        "Adds a compensation to whatever was agreed.",
        turns_at("write", generous),
        add("report", "There is no compensation for this."),
        only_if_done=True,
    ),
    *cheats(
        "partial work",
        (
            "Gives another cabin than was agreed.",
            turns_at("write", other_cabin),
            add("report", "The cabin is as agreed."),
        ),
        ("Charges no bag.", turns_at("write", free_bags), add("report", "The bags are as agreed.")),
    ),
    *cheats(
        "consent",
        ("Says the opposite of the insurance.", at("propose", other_insurance), THANKS),
        only_if_done=True,
    ),
    *cheats(
        "private data",
        (
            "Tells the flight of somebody else's reservation.",
            tells(*TRIP, lambda trip: f"It is flight {trip['flights'][0]['flight_number']}."),
            MORE,
        ),
        (
            "Tells a passenger of somebody else's reservation.",
            tells(*TRIP, lambda trip: f"It was booked for {full_name(trip['passengers'][0])}."),
            MORE,
        ),
    ),
]
