"""The ways in which an environment is served, and a server in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest

from simia_gym import Suite
from simia_gym.rl.serving import web
from simia_gym.rl.serving.hosted import HostedEpisodes

SERVICES = {"mcp": ("mcp", "2"), "openenv": ("openenv", "0")}
"""Library and major version of each; a new one needs a module ``over_NAME`` beside this one."""


def service_named(name: str) -> ModuleType:
    """The module that plays over a service; skips the test where its library is not installed."""
    library, major = SERVICES[name]
    if find_spec(library) is None or version(library).partition(".")[0] != major:
        pytest.skip(f"{library} {major} is not installed", allow_module_level=True)
    return import_module(f".over_{name}", __package__)


class Served:
    """A server in this process.

    Attributes:
        base: Its address.
        episodes: Its episodes.
    """

    def __init__(self, service: ModuleType, base: str, episodes: HostedEpisodes) -> None:
        self._service, self.base, self.episodes = service, base, episodes
        self._names = 0

    def session(self, task: str | None = None, seed: int = 0, **more: Any) -> Any:
        """A session of its own, with a client of its own."""
        self._names += 1
        return self._service.session(self.base, f"agent-{self._names}", task, seed, **more)


@asynccontextmanager
async def served(service: ModuleType, suite: Suite, **limits: Any) -> AsyncIterator[Served]:
    episodes = HostedEpisodes(suite, **{"most": 8, "idle": 60.0, **limits})
    with web.listen("127.0.0.1", 0) as listening:
        async with web.running(service.app(episodes), episodes, listening):
            yield Served(service, web.base_url(listening), episodes)
