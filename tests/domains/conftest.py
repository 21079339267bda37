"""Every domain in turn, and models that know all of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread

from ..sandbox.conftest import needs_sandbox
from .table import ALLOWED, FIXTURES, WORLDS

FOLDERS = tuple(world.folder for world in WORLDS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Warnings are errors here as everywhere, except for the allowed ones."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for warning in ALLOWED:
                item.add_marker(pytest.mark.filterwarnings(warning))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test in every domain; one that wants a part that not all have, in those that have it."""
    wanted = {
        "world": WORLDS,
        "talking": [world for world in WORLDS if world.config.user],
        "serving": [world for world in WORLDS if world.config.service],
        "generating": [world for world in WORLDS if world.config.generator],
        "bare": [world for world in WORLDS if world.own.bare],
        "registered": [world for world in WORLDS if not world.settings],
    }
    for name, worlds in wanted.items():
        if name in metafunc.fixturenames:
            marked = [pytest.param(world, marks=[needs_sandbox] if world.own.sandboxed else []) for world in worlds]
            metafunc.parametrize(name, marked, ids=lambda world: world.name)


@pytest.fixture(scope="session")
def oracle() -> Iterator[OracleServer]:
    """Models that make no mistakes, and have the tasks and states of all domains."""
    with serve_in_thread(OracleOptions(domains=FOLDERS)) as server:
        yield server


@pytest.fixture(scope="session")
def blind() -> Iterator[OracleServer]:
    """Models that make no mistakes, and are given neither tasks nor states: the prompt alone must do."""
    with serve_in_thread(OracleOptions(domains=FOLDERS, data_free=True)) as server:
        yield server


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A copy of the file tree, whose world no other test has used."""
    return Path(shutil.copytree(FIXTURES / "files", tmp_path / "files"))
