"""What the tests of the synthesis share."""

from __future__ import annotations

from pathlib import Path

import pytest

from simia_gym.cli.app import run


@pytest.fixture(scope="module")
def traces(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded episode of the environment that a module names."""
    path = tmp_path_factory.mktemp("traces") / "traces.jsonl"
    assert run(["rollout", request.module.ENV, "--episodes", "1", "--out", str(path)]) == 0
    return path
