"""An oracle that serves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread


@pytest.fixture(scope="module")
def oracle() -> Iterator[OracleServer]:
    """A perfect one, which may read data."""
    with serve_in_thread(OracleOptions()) as server:
        yield server


@pytest.fixture(scope="module")
def blind() -> Iterator[OracleServer]:
    """One that reads no data."""
    with serve_in_thread(OracleOptions(data_free=True)) as server:
        yield server
