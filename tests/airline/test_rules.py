"""The airline's rules against the gold actions of the public benchmark's training tasks, which know nothing of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.envs.airline.build import STATE_FILE
from simia_gym.envs.airline.wishes.flights import AND, CHEAPEST, THEN, as_booked, by_way, numbers
from simia_gym.service import Case, Generator, Grant, decide, load_service
from simia_gym.state import State
from simia_gym.types import JsonObject, Row, ToolCall

ILL = "7"
"""The task whose customer is ill; those of the others give no reason to cancel that insurance covers."""
CHEAP = ("14", "15", "23")
"""The tasks whose customers want the cheapest flights, direct or not; those of the others are asked for by number."""
DEVIATIONS = {
    # The customer wants to give up the seat for somebody else. The reservation is insured, and five days old.
    ("39", "MSJ4OA"): "cancellable",
}
"""Gold actions that the rules refuse, by task and reservation, with the rule."""


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


def _wish(call: ToolCall, state: State, row: Row | None, task: str) -> tuple[str, JsonObject]:
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
            name, slots = _wish(call, state, row, task.id)
            if name:
                case = Case(call.arguments.get("user_id") or row["user_id"], service.reader(state), slots)
                verdict = decide(service, service.declared.wishes[name], case)
                if isinstance(verdict, Grant):
                    assert verdict.call == call, task.id
                    granted[name] += 1
                else:
                    refused[task.id, slots["reservation"]] = getattr(verdict, "rule", "")
            state = world.call(state, call).state or state
    assert refused == DEVIATIONS
    assert granted == {
        "cancel": 8, "change_cabin": 3, "change_flights": 3, "baggage": 4, "passengers": 2, "book": 5
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "first"),
    [("cancelled_for_delay", "cancel_reservation"), ("changed_for_delay", "update_reservation_flights")],
)
def test_a_delay_is_compensated_once_the_reservation_was_given_up_for_it(kind: str, first: str) -> None:
    service = load_service(STATE_FILE.parent)
    generator, compensated = Generator(service, service.ids), 0
    for index in range(40):
        called = [call["name"] for call in generator.make(f"delay-{index}", "test", index, kind).gold]
        assert called in ([first, "send_certificate"], [first], [])  # none to a customer who gets no compensation
        compensated += len(called) == 2
    assert compensated > 10
