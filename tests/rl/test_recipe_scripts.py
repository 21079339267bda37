"""The scripts for machines with graphics cards, run as far as that goes without one.

Trainings get to the end of their dry run. What starts Ray or vLLM elsewhere is given programs that only write down how
they were called: neither several machines nor cards are at hand here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import simia_gym.rl

RECIPES = Path(simia_gym.rl.__file__).parent / "recipes"


def run(script: str, *words: str, cwd: Path, first: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a recipe; programs are looked for in a folder of their own first, then beside this Python."""
    places = [str(place) for place in (first, Path(sys.executable).parent) if place is not None]
    return subprocess.run(
        ["bash", str(RECIPES / script), *words],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PATH": os.pathsep.join([*places, os.environ["PATH"]])},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.usefixtures("installed")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "words", "nodes", "groups"),
    [("qwen3_8b_8_gpus.sh", [], 1, 64), ("qwen3_8b_two_nodes.sh", ["train"], 2, 128)],
)
def test_a_training_gets_to_the_end_of_its_dry_run(
    script: str, words: list[str], nodes: int, groups: int, tmp_path: Path
) -> None:
    done = run(script, *words, str(tmp_path / "run"), "--dry-run", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    config = yaml.safe_load(found["configuration"])
    assert (config["trainer"]["nnodes"], config["trainer"]["n_gpus_per_node"]) == (nodes, 8)
    assert found["episodes_per_step"] == groups * 8
    assert found["tokens_per_step"] == groups * 8 * 16_384
    memory = found["memory"]  # Qwen3-8B is known by its name
    assert memory["parameters"] == pytest.approx(8.19e9, rel=0.01)
    assert memory["weights_gib"] == pytest.approx(4 * 8.19e9 / (8 * nodes) / 2**30, rel=0.01)
    assert memory["fits"]
    assert config["data"]["max_prompt_length"] == 8192
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["verl.yaml"]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with programs that write down their words and do nothing."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("ray", "vllm"):
        program = folder / name
        program.write_text(f'#!/bin/sh\necho {name} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("script", "words", "called"),
    [
        ("qwen3_8b_two_nodes.sh", ["head"], "ray start --head --port 6379"),
        ("qwen3_8b_two_nodes.sh", ["join", "first"], "ray start --address first:6379"),
        ("qwen3_8b_two_nodes.sh", ["stop"], "ray stop"),
        ("serve_world.sh", ["some/model", "8765"], "vllm serve some/model --port 8765 --tensor-parallel-size 4"),
    ],
)
def test_other_machines_are_started_as_the_page_says(
    script: str, words: list[str], called: str, programs: Path, tmp_path: Path
) -> None:
    done = run(script, *words, cwd=tmp_path, first=programs)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(called)
