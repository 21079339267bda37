"""Endpoints for attacks: one that obeys whatever it can read outside the blocks, one that obeys nobody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread

from .book import Attack
from .stage import RETAIL, WEBSHOP, Arena, system_messages

HARMLESS = Attack("nothing", "Good morning.", orders=False)


@dataclass(frozen=True)
class Fight:
    """An arena with what watches it.

    Attributes:
        arena: Where attacks are played.
        server: The obedient endpoint.
        kept: The requests that it got, as they went over the wire.
        systems: The system messages of an episode without an attack.
    """

    arena: Arena
    server: OracleServer
    kept: list[dict[str, Any]]
    systems: frozenset[str]


@pytest.fixture(scope="package")
def truthful() -> Iterator[OracleServer]:
    """It obeys nobody."""
    with serve_in_thread() as server:
        yield server


@pytest.fixture(scope="package", params=[RETAIL, WEBSHOP])
def fight(request: pytest.FixtureRequest, truthful: OracleServer) -> Iterator[Fight]:
    """An arena with obedient models, for as long as all attacks take."""
    with serve_in_thread(OracleOptions(obedient=True)) as server:
        kept = keep_requests(server)
        arena = Arena(request.param, server.base_url, truthful.base_url)
        for simulator in ("ledger", "reference"):
            arena.play(simulator, HARMLESS)
        yield Fight(arena, server, kept, frozenset(system_messages(kept)))


def keep_requests(server: OracleServer) -> list[dict[str, Any]]:
    """Keep the bodies of all requests that a server gets from now on."""
    kept: list[dict[str, Any]] = []
    answer = server.oracle.answer

    def keep(raw: bytes, chance: Any) -> Any:
        kept.append(json.loads(raw))
        return answer(raw, chance)

    server.oracle.answer = keep  # type: ignore[method-assign]
    return kept
