"""The shop's data from a tau2-bench retail directory."""

from __future__ import annotations

from pathlib import Path

from simia_gym.domain.data import DomainData
from simia_gym.envs._tau2 import data
from simia_gym.envs.retail.world import RetailWorld


def load(path: Path, domain: str = "retail") -> DomainData:
    """Load database, policy and tasks of the retail benchmark; see `simia_gym.envs._tau2.data.load`."""
    return data.load(path, domain, RetailWorld, Path(__file__).with_name("state.schema.json"))
