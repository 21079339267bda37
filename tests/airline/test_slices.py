"""A call's slice holds what the tool needs and little else; the rendering rules write what the world writes."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.envs._tau2.recorded import read_recordings
from simia_gym.envs.airline.build import STATE_FILE
from simia_gym.evaluation.slice_check import call_problems, declaration_problems
from simia_gym.state import State
from simia_gym.types import JsonObject, Row, ToolCall

FOLDER = STATE_FILE.parent
MOST = 8_000
"""Bytes of a slice."""


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


def seats(state: State) -> int:
    """Seats left on departures that are sold, and those that reservations hold there; no call may change the sum."""
    total = 0
    for _, row in state.rows("departures"):
        total += sum(row.get("available_seats", {}).values())
    for _, row in state.rows("reservations"):
        keys = [f"{leg['flight_number']}@{leg['date']}" for leg in row["flights"] if row["status"] is None]
        total += len(row["passengers"]) * sum("prices" in row_of(state, "departures", key) for key in keys)
    return total


@pytest.mark.parametrize("compat", [None, "tau2"])
def test_any_run_of_calls(compat: str | None) -> None:
    """The world does the same on the slice, errors change nothing and say why, seats and invariants are kept."""
    domain = load_domain(FOLDER, {"compat": compat})
    schema = domain.state_schema
    assert domain.world is not None
    assert schema is not None
    rng, codes, done = random.Random(5), Counter[str](), Counter[str]()
    base = state = domain.base
    total = seats(base)
    names = [*domain.specs]
    names += [name for name, spec in domain.specs.items() if spec.effect == "write"] * 3
    for number in range(3_000):
        if number % 150 == 0:
            state = base
        name = rng.choice(names)
        call = ToolCall(name, arguments_for(rng, domain, name, state))
        transition, problems, _ = call_problems(domain, state, call)
        assert problems == [], call
        assert domain.slicer(name)(state, call).size < MOST
        explained = domain.world.call(state, call, "explain").observation
        if transition.error_code is not None:
            codes[transition.error_code] += 1
            assert (transition.ops, transition.state) == ((), None)
            assert explained.startswith(f"{transition.observation.rstrip('.')}. Why: ")
            continue
        assert explained == transition.observation
        done[name] += 1
        after = transition.state or state
        assert state.apply(transition.ops or ()).touched_since(after) == []
        if compat is None and transition.ops:
            assert list(schema.problems(after, after.touched_since(base))) == []
            assert seats(after) == total
        state = after
    assert codes.keys() >= {"not_found", "not_available", "insufficient_balance", "mismatch", "limit_reached"}
    assert min(done[name] for name in domain.specs) > 20


@pytest.mark.parametrize("odd", [None, 7, [], {}, ["SA1"], True])
def test_odd_arguments_of_the_benchmark_do_the_same_on_the_slice(odd: Any) -> None:
    domain = load_domain(FOLDER, {"compat": "tau2"})
    rng = random.Random(3)
    for name, spec in domain.specs.items():
        for parameter in spec.parameters["properties"]:
            arguments = {**arguments_for(rng, domain, name, domain.base), parameter: odd}
            assert call_problems(domain, domain.base, ToolCall(name, arguments))[1] == []


def test_the_benchmarks_own_database(shared_data: Path) -> None:
    """Gold and recorded calls on 9,000 departures, and every search of a day."""
    domain = load_domain(FOLDER, data=shared_data / "tau2" / "airline")
    assert list(declaration_problems(domain)) == []
    recorded = read_recordings(shared_data / "rollouts" / "airline_tau2.jsonl", "airline")
    runs = [[call for call, _ in answered] for _, answered in recorded]
    runs += [[ToolCall(each["name"], each["arguments"]) for each in task.gold] for task in domain.tasks["train"]]
    for calls in runs:
        state = domain.base
        for call in calls:
            transition, problems, _ = call_problems(domain, state, call)
            assert problems == []
            assert domain.slicer(call.name)(state, call).size < MOST
            state = transition.state or state
    codes = [*domain.base.keys("airports")]
    for day in ("2024-05-16", "2024-05-20", "2024-05-29"):
        for origin, destination in product(codes, codes):
            arguments = {"origin": origin, "destination": destination, "date": day}
            for name in ("search_direct_flight", "search_onestop_flight"):
                assert domain.slicer(name)(domain.base, ToolCall(name, arguments)).size < MOST
        for origin, destination in random.Random(day).sample([*product(codes, codes)], 40):
            arguments = {"origin": origin, "destination": destination, "date": day}
            assert call_problems(domain, domain.base, ToolCall("search_onestop_flight", arguments))[1] == []
