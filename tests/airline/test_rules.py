"""The airline's rules against the gold actions of the public benchmark's training tasks, which know nothing of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.envs.airline.wishes.booking import shares
from simia_gym.service import Case, Grant, decide, load_service
from simia_gym.types import JsonObject, Row, ToolCall

ILL = "7"
"""The task whose customer is ill; those of the others give no reason to cancel that insurance covers."""
DEVIATIONS = {
    # The customer wants to give up the seat for somebody else. The reservation is insured, and five days old.
    ("39", "MSJ4OA"): "cancellable",
}
"""Gold actions that the rules refuse, by task and reservation, with the rule."""
OTHER_FLIGHTS = ("own_trip", "still_booked", "not_basic", "not_flown", "own_method", "no_certificate")
"""The rules on other flights that do not look at the new ones: customers of the benchmark change several at once."""
NEW_TRIP = ("five_at_most", "own_method", "one_certificate")
"""The rules on bookings that do not look at the flights: the benchmark books round trips and connections."""
APART = {"change_flights": OTHER_FLIGHTS, "book": NEW_TRIP}


def _wish(call: ToolCall, row: Row | None, task: str) -> tuple[str, JsonObject]:
    """The wish that a gold call grants, and what its customer wants; no wish for one that the service does not have."""
    given = call.arguments
    match call.name:
        case "cancel_reservation":
            return "cancel", {"reservation": given["reservation_id"], "reason": "health" if task == ILL else "plans"}
        case "update_reservation_flights":
            assert row is not None
            same = [{name: leg[name] for name in ("flight_number", "date")} for leg in row["flights"]]
            slots = {"reservation": given["reservation_id"], "payment": given["payment_id"]}
            if given["flights"] == same:
                return "change_cabin", {**slots, "cabin": given["cabin"]}
            return "change_flights", slots
        case "update_reservation_baggages":
            slots = {"reservation": given["reservation_id"], "payment": given["payment_id"]}
            return "baggage", {**slots, "bags": given["total_baggages"]}
        case "update_reservation_passengers":
            return "passengers", {"reservation": given["reservation_id"], "passengers": given["passengers"]}
        case "book_reservation":
            paying = " + ".join(payment["payment_id"] for payment in given["payment_methods"])
            return "book", {"passengers": given["passengers"], "payment": paying}
    return "", {}


def test_rules_grant_what_the_benchmark_does(shared_data: Path) -> None:
    theirs = load_suite(EnvConfig("simia/airline-v0", data=str(shared_data / "tau2" / "airline"), split="train"))
    service, world = load_service(theirs.domain.folder), theirs.domain.world
    assert world is not None
    assert len(theirs.tasks) == 30
    refused: dict[tuple[str, str], str] = {}
    granted: Counter[str] = Counter()
    for task in theirs.tasks:
        state = theirs.domain.prepare(task).initial
        for gold in task.gold:
            call = ToolCall(gold["name"], gold["arguments"])
            row: Any = state.get("reservations", str(call.arguments.get("reservation_id")))
            name, slots = _wish(call, row, task.id)
            if name:
                case = Case(call.arguments.get("user_id") or row["user_id"], service.reader(state), slots)
                if name in APART:
                    assert not [rule for rule in APART[name] if service.function(rule)(case) is not None]
                    granted[name] += 1
                    if name == "book":
                        paid = call.arguments["payment_methods"]
                        assert shares(case, sum(payment["amount"] for payment in paid)) == paid
                elif isinstance(verdict := decide(service, service.declared.wishes[name], case), Grant):
                    assert verdict.call.arguments == call.arguments, task.id
                    granted[name] += 1
                else:
                    refused[task.id, slots["reservation"]] = getattr(verdict, "rule", "")
            state = world.call(state, call).state or state
    assert refused == DEVIATIONS
    assert granted == {
        "cancel": 8, "change_cabin": 3, "change_flights": 3, "baggage": 4, "passengers": 2, "book": 5
    }  # fmt: skip
