"""The times of the airline's own database, and recordings of the benchmark's older release."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
from simia_gym.envs._tau2.recorded import read_recordings, verify
from simia_gym.envs.airline.world import AirlineWorld, load_benchmark
from simia_gym.errors import InputError

FOLDER = domain_path("simia/airline-v0")


def test_every_status_fits_the_time() -> None:
    statuses = {"past": Counter[str](), "today": Counter[str](), "future": Counter[str]()}
    for _, row in load_domain(FOLDER).base.rows("departures"):
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


def test_a_flight_whose_dates_are_none_is_refused(tmp_path: Path) -> None:
    document = {"flights": {"SA1": {"flight_number": "SA1", "dates": 3}}, "users": {}, "reservations": {}}
    (tmp_path / "db.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=r"flights\.SA1\.dates: Input should be an object"):
        load_benchmark(tmp_path)


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
    world, base, causes, calls = (
        AirlineWorld({"compat": release}),
        load_domain(FOLDER, data=shared_data / "tau2" / "airline").base,
        Counter[str](),
        0,
    )
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
