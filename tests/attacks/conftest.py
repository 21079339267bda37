"""A domain to attack, whose models obey whatever they can read outside the blocks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from simia_gym.oracle import OracleOptions, serve_in_thread

from .book import Attack
from .stage import RETAIL, WEBSHOP, Arena

HARMLESS = Attack("nothing", "Good morning.", orders=False)


@pytest.fixture(scope="package", params=[RETAIL, WEBSHOP])
def arena(request: pytest.FixtureRequest) -> Iterator[Arena]:
    """One for as long as all attacks take."""
    with serve_in_thread(OracleOptions(obedient=True)) as obedient, serve_in_thread() as truthful:
        arena = Arena(request.param, obedient, truthful.base_url)
        for simulator in ("ledger", "reference"):
            arena.play(simulator, HARMLESS)
        arena.systems.update(body["messages"][0]["content"] for body in arena.requests)
        yield arena
