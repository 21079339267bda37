"""What every test shares."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from simia_gym.oracle import OracleOptions, OracleServer, serve_in_thread

CHECKOUT = Path(__file__).resolve().parent.parent
SHARED = CHECKOUT.parent / "shared" / "data"
sys.path.append(str(CHECKOUT))  # for the benchmarks, which are no part of what is installed


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """The whole suite runs on all cores; files and folders that are named run in one process."""
    return min(os.cpu_count() or 1, 8) if config.args == config.getini("testpaths") else 0


_SAMPLED = 10
"""One of so many cases of a test that is marked so is among the fast tests."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all cases but a few of the tests that are ``sampled`` as slow."""
    seen: Counter[tuple[Path, str]] = Counter()
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            case = item.path, getattr(item, "originalname", item.name)
            if seen[case] % _SAMPLED:
                item.add_marker(pytest.mark.slow)
            seen[case] += 1


@pytest.fixture(autouse=True, scope="session")
def _interrupts_are_heard() -> None:
    """A shell starts ``pytest &`` with SIGINT ignored, and all processes that tests start would ignore it, too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_endpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may reach somebody's endpoint through a variable of the machine."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "AZURE_OPENAI_", "SIMIA_")):
            monkeypatch.delenv(name)


@pytest.fixture
def checkout() -> Path:
    return CHECKOUT


@pytest.fixture
def shared_data() -> Path:
    """Real benchmark data that lies beside some checkouts; tests that need it are skipped elsewhere."""
    if not SHARED.is_dir():
        pytest.skip("the real benchmark data (../shared/data) is not on this machine")
    return SHARED


@pytest.fixture(scope="module")
def oracle() -> Iterator[OracleServer]:
    """Models that make no mistakes, and have the domains' tasks and states."""
    with serve_in_thread() as server:
        yield server


@pytest.fixture(scope="module")
def blind() -> Iterator[OracleServer]:
    """Models that make no mistakes, and are given neither tasks nor states: the prompt alone must do."""
    with serve_in_thread(OracleOptions(data_free=True)) as server:
        yield server
