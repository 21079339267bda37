"""An endpoint that knows the truth, for as long as a module needs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from simia_gym.oracle.options import OracleOptions
from simia_gym.oracle.server import OracleServer, serve_in_thread


@pytest.fixture(scope="module")
def oracle() -> Iterator[OracleServer]:
    """It makes no mistakes, and is given neither tasks nor states: the prompt alone must do."""
    with serve_in_thread(OracleOptions(data_free=True)) as server:
        yield server


@pytest.fixture(scope="module")
def knowing_oracle() -> Iterator[OracleServer]:
    """It makes no mistakes and has the domains' tasks, to play them again from their start."""
    with serve_in_thread() as server:
        yield server
