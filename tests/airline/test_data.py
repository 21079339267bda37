"""The airline's own database, and the public benchmark's with its recorded episodes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from simia_gym.cli.app import app
from simia_gym.common.dotted_names import load_object
from simia_gym.envs._tau2.domain_files import state_text, tools_text
from simia_gym.envs._tau2.recorded import read_recordings, verify
from simia_gym.envs._tau2.rows import Tables
from simia_gym.envs.airline.benchmark import load
from simia_gym.envs.airline.build import STATE_FILE, build
from simia_gym.envs.airline.world import AirlineWorld
from simia_gym.errors import InputError
from simia_gym.state import State
from simia_gym.state.schema import read_state_schema

SCHEMA = read_state_schema(STATE_FILE.parent / "state.schema.json")


def own() -> Tables:
    tables: Tables = json.loads(STATE_FILE.read_text())
    return tables


def benchmark(shared_data: Path) -> State:
    data = load(shared_data / "tau2" / "airline")
    assert data.tables is not None
    return State.from_tables(data.tables)


def mistakes(state: State) -> list[Any]:
    return list(SCHEMA.problems(state, [(table, key) for table in state.tables for key in state.keys(table)]))


def test_the_files_are_what_the_seed_and_the_world_give() -> None:
    assert STATE_FILE.read_text(encoding="utf-8") == state_text(build())
    assert STATE_FILE.with_name("tools.json").read_text(encoding="utf-8") == tools_text(AirlineWorld)


def test_the_database_keeps_its_rules_and_every_status_fits_the_time() -> None:
    tables = own()
    assert mistakes(State.from_tables(tables)) == []
    counts = {name: len(rows) for name, rows in tables.items()}
    assert counts == {
        "users": 60, "reservations": 150, "flights": 120, "departures": 1680, "airports": 20, "clock": 1,
    }  # fmt: skip
    statuses = {"past": Counter[str](), "today": Counter[str](), "future": Counter[str]()}
    for row in tables["departures"].values():
        when = "today" if row["date"] == "2024-05-15" else "past" if row["date"] < "2024-05-15" else "future"
        statuses[when][row["status"]] += 1
        for name, time in row.items():
            assert not name.startswith("actual") or time <= "2024-05-15T15:00:00"
            assert not name.startswith("estimated") or time > "2024-05-15T15:00:00"
    assert {when: set(found) for when, found in statuses.items()} == {
        "past": {"landed", "cancelled"},
        "today": {"landed", "flying", "on time", "delayed", "cancelled"},
        "future": {"available"},
    }


def test_nothing_of_the_public_database_is_in_it(shared_data: Path) -> None:
    public, ours = json.loads((shared_data / "tau2" / "airline" / "db.json").read_text()), own()
    for table in ("users", "reservations", "flights"):
        assert not set(ours[table]) & set(public[table])
    emails = [{user["email"] for user in data["users"].values()} for data in (ours, public)]
    assert not emails[0] & emails[1]


BROKEN: dict[str, Callable[[Any, Any], object]] = {
    "money_adds_up": lambda row, user: row.update(insurance="yes" if row["insurance"] == "no" else "no"),
    "flights_are_in_the_timetable": lambda row, user: row["flights"][0].update(date="2025-01-01"),
    "payment_methods_are_owned": lambda row, user: row["payment_history"][0].update(payment_id="gift_card_1"),
    "reservations_are_listed": lambda row, user: user["reservations"].clear(),
}


@pytest.mark.parametrize("name", BROKEN)
def test_invariants_notice(name: str) -> None:
    tables = own()
    row = next(row for row in tables["reservations"].values() if row["status"] is None)
    BROKEN[name](row, tables["users"][row["user_id"]])
    check: Any = load_object(f"simia_gym.envs.airline.invariants:{name}")
    touched = [("reservations", row["reservation_id"]), ("users", row["user_id"])]
    assert len(list(check(State.from_tables(tables), touched))) == 1


def test_the_benchmarks_database(shared_data: Path) -> None:
    state = benchmark(shared_data)
    counts = {name: state.count(name) for name in ("users", "reservations", "flights", "departures")}
    assert counts == {"users": 500, "reservations": 2000, "flights": 300, "departures": 9000}
    assert mistakes(state) == []


def test_a_flight_whose_dates_are_none_is_refused(tmp_path: Path) -> None:
    document = {"flights": {"SA1": {"flight_number": "SA1", "dates": 3}}, "users": {}, "reservations": {}}
    (tmp_path / "db.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"flights\.SA1\.dates: Input should be an object"):
        load(tmp_path)


def test_recorded_episodes_run_again(shared_data: Path) -> None:
    data, rollouts = shared_data / "tau2" / "airline", shared_data / "rollouts" / "airline_tau2.jsonl"
    command = ["verify-recorded", "airline", "--data", str(data), "--rollouts", str(rollouts), "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["pairs"], found["identical"], found["mismatches"]) == (329, 329, 0)
    assert (found["episodes"], found["outcome_checked"], found["outcome_agree"]) == (25, 25, 25)


def plain(value: Any) -> Any:
    """Data of either release: empty fields and the user's id left out, one name for the state of an address."""
    if isinstance(value, dict):
        names = {"province": "state"}
        kept = {names.get(key, key): plain(item) for key, item in value.items() if item is not None}
        return {key: item for key, item in kept.items() if key != "user_id"}
    return [plain(item) for item in value] if isinstance(value, list) else value


def told(text: str) -> Any:
    """An observation as data; of texts, the case of letters does not count."""
    return plain(json.loads(text)) if text.startswith(("{", "[")) else text.lower()


@pytest.mark.parametrize(
    ("release", "differences"),
    [
        ("tau1", {"list_all_airports": 2, "search_onestop_flight": 3, "data": 2}),
        ("tau2", {"list_all_airports": 2, "search_onestop_flight": 3, "data": 2, "cabin": 31}),
    ],
)
def test_recordings_of_the_older_release(shared_data: Path, release: str, differences: dict[str, int]) -> None:
    """Of 524 calls all but these give equal data; most of their texts begin with other letters.

    The older release lists airports as one object, shows one flight on two dates with the seats of one of them, and
    its database had a round trip as a one-way one.
    """
    world, base, causes, calls = AirlineWorld({"compat": release}), benchmark(shared_data), Counter[str](), 0
    for _, answered in read_recordings(shared_data / "rollouts" / "airline_tau1.jsonl", "airline"):
        state = base
        for call, expected in answered:
            if call.name not in world.tools:
                assert call.name == "think"
                continue
            transition = world.call(state, call)
            state, calls = transition.state or state, calls + 1
            ours, theirs = told(transition.observation), told(expected)
            if ours == theirs:
                continue
            fields = {key for key in theirs if theirs[key] != ours.get(key)} if "reservation_id" in theirs else set()
            cause = {("cabin",): "cabin", ("destination", "flight_type"): "data"}.get(tuple(sorted(fields)), call.name)
            causes[cause] += 1
    assert (calls, dict(causes)) == (524, differences)
    found = verify(world, base, shared_data / "rollouts" / "airline_tau1.jsonl")
    assert (found["outcome_checked"], found["outcome_agree"]) == (100, 99)
