"""The airline's data from a tau2-bench airline directory."""

from __future__ import annotations

from pathlib import Path

from simia_gym.domain.data import DomainData
from simia_gym.envs._tau2 import data
from simia_gym.envs.airline.rows import read_tables
from simia_gym.envs.airline.world import AirlineWorld


def load(path: Path, domain: str = "airline") -> DomainData:
    """Load database, policy and tasks of the airline benchmark; see `simia_gym.envs._tau2.data.load`."""
    return data.load(path, domain, read_tables, AirlineWorld)
