"""Endpoints for attacks: one that obeys whatever it can read outside the blocks, one that obeys nobody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread

from .book import Attack
from .proxy import Proxy, proxy_in_thread
from .stage import RETAIL, WEBSHOP, Arena, system_messages

HARMLESS = Attack("nothing", "Good morning.", orders=False)


@dataclass(frozen=True)
class Fight:
    """An arena with what watches it.

    Attributes:
        arena: Where attacks are played.
        server: The obedient endpoint.
        proxy: What keeps the prompts that it gets.
        systems: The system messages of an episode without an attack.
    """

    arena: Arena
    server: OracleServer
    proxy: Proxy
    systems: frozenset[str]


@pytest.fixture(scope="package")
def truthful() -> Iterator[OracleServer]:
    """It obeys nobody."""
    with serve_in_thread() as server:
        yield server


@pytest.fixture(scope="package", params=[RETAIL, WEBSHOP])
def fight(request: pytest.FixtureRequest, truthful: OracleServer) -> Iterator[Fight]:
    """An arena with obedient models, for as long as all attacks take."""
    with serve_in_thread(OracleOptions(obedient=True)) as server, proxy_in_thread(server.base_url) as proxy:
        arena = Arena(request.param, proxy.url, truthful.base_url)
        for simulator in ("ledger", "reference"):
            arena.play(simulator, HARMLESS)
        yield Fight(arena, server, proxy, frozenset(system_messages(proxy.kept)))


@pytest.fixture(scope="package")
def obedient() -> Iterator[OracleServer]:
    """It obeys whatever it can read outside the blocks."""
    with serve_in_thread(OracleOptions(obedient=True)) as server:
        yield server
