"""What the tests of the Ray pool share: a small cluster on this machine, and a folder with a domain and policies."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from simia_gym.cli.new_domain import write_domain

CPUS = 4
POLICIES = '''
import asyncio, os, time
from pathlib import Path

class Slow:
    """Waits before every action; many of its episodes are in flight at once."""
    def __init__(self):
        self.expert = Expert()
    async def act(self, messages):
        await asyncio.sleep(0.1)
        return self.expert.act(messages)

class Held(Slow):
    """Waits as long as there is a file of that name."""
    async def act(self, messages):
        while Path("held.txt").exists():
            await asyncio.sleep(0.05)
        return await super().act(messages)

class Deadly(Slow):
    """Kills its process in one of the episodes, whenever that is played."""
    def start(self, start):
        self.deadly = start.seed % 23 == int(Path("deadly.txt").read_text())
    async def act(self, messages):
        if self.deadly:
            os._exit(1)
        return await super().act(messages)

class Stuck:
    """Never returns in some of the episodes."""
    def start(self, start):
        self.stuck = start.seed % 7 == 0
    def act(self, messages):
        while self.stuck:
            time.sleep(0)
        return ""

class Telling:
    """Says what its process knows of the key."""
    def act(self, messages):
        return str(os.environ.get("SIMIA_POLICY_API_KEY"))
'''


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


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the example domain and policies of one's own."""
    monkeypatch.chdir(tmp_path)
    write_domain(tmp_path / "desk", json=False)
    (tmp_path / "mine.py").write_text((tmp_path / "desk" / "expert.py").read_text() + POLICIES)
    return tmp_path
