"""A small Ray cluster on this machine, shared by the tests of a session."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

CPUS = 4


@dataclass(frozen=True)
class Cluster:
    """Ray, initialised.

    Attributes:
        ray: The library.
        address: Where others can join or connect.
    """

    ray: Any
    address: str


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster of this machine alone; its processors are counted, not there."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Paths of sockets must be short; pytest's own folders are not.
    folder = tempfile.mkdtemp(prefix="ray", dir=os.environ.get("RAY_TMPDIR", "/tmp"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray

        made = ray.init(
            address="local",
            num_cpus=CPUS,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            object_store_memory=100 * 1024 * 1024,
            _temp_dir=folder,
        )
    try:
        yield Cluster(ray, made.address_info["address"])
    finally:
        ray.shutdown()
