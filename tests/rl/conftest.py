"""What the tests of training share: which of them run, and whose warnings count."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .libraries import need
from .ray_cluster import cluster, desk

__all__ = ["cluster", "desk"]

ASKED = "SIMIA_SLOW_RL"
SLOW = "slow_rl"


@pytest.fixture
def installed() -> None:
    """Skips a test where the libraries of `simia train grpo` are not installed."""
    need("torch", "verl", "ray", "transfer_queue", "hydra")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave real trainings to those who ask for them: ``pytest -m slow_rl``, or the variable."""
    asked = bool(os.environ.get(ASKED)) or SLOW in str(config.getoption("markexpr", ""))
    here = Path(__file__).parent
    for item in items:
        if here not in item.path.parents:
            continue
        # A warning that code of ours causes stays an error; those within the libraries are not ours to mend.
        item.add_marker(pytest.mark.filterwarnings("ignore:::(?!simia_gym|tests)"))
        if item.get_closest_marker(SLOW) and not asked:
            item.add_marker(pytest.mark.skip(reason=f"trains for real; run it with: pytest -m {SLOW}, or {ASKED}=1"))
