"""The airline's data from a tau2-bench airline directory."""

from __future__ import annotations

from pathlib import Path

from simia_gym.common.validation import validated
from simia_gym.domain.data import DomainData
from simia_gym.envs._tau2 import data
from simia_gym.envs._tau2.rows import Tables
from simia_gym.envs.airline.people import AIRPORTS
from simia_gym.envs.airline.trips import NOW
from simia_gym.envs.airline.world import AirlineWorld
from simia_gym.types import JsonObject


def load(path: Path, domain: str = "airline") -> DomainData:
    """Load database, policy and tasks of the airline benchmark; see `simia_gym.envs._tau2.data.load`."""
    return data.load(path, domain, AirlineWorld, Path(__file__).with_name("state.schema.json"), _arranged)


def _arranged(database: Tables, where: str) -> Tables:
    """The benchmark's tables as the world has them: the dates of all flights become a table of their own."""
    departures: dict[str, JsonObject] = {}
    for key, flight in database.get("flights", {}).items():
        place = f"{where}: flights.{key}.dates"
        for date, found in validated(dict[str, JsonObject], flight.get("dates", {}), where=place).items():
            departures[f"{key}@{date}"] = {"flight_number": key, "date": date, **found}
    airports = {iata: {"iata": iata, "city": city} for iata, city in AIRPORTS.items()}
    return {**database, "departures": departures, "airports": airports, "clock": {"now": {"time": NOW}}}
