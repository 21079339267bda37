"""`simia train grpo` as it is typed: what is refused, and what a dry run says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

HEAVY = ("torch", "ray", "verl", "vllm", "transformers", "trl", "hydra", "datasets", "matplotlib")


def simia(*words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    return subprocess.run(
        [sys.executable, "-m", "simia_gym", *words],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_help_is_light(tmp_path: Path) -> None:
    code = f"""
import sys
from simia_gym.cli.app import run
for words in (["train", "--help"], ["train", "grpo", "--help"], ["train", "setup-vllm", "--help"]):
    assert run(words) == 0
assert not [name for name in {HEAVY!r} if name in sys.modules], [name for name in {HEAVY!r} if name in sys.modules]
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for word in ("--dry-run", "--resume", "--group-size", "--max-prompt-length", "--base-url"):
        assert word in done.stdout


def test_a_missing_extra_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    from simia_gym.errors import InputError
    from simia_gym.rl.extras import require

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("simia_gym.rl.extras.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'verl is not installed.*pip install "simia-gym\[rl\]"') as caught:
        require("rl", "verl")
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["nowhere"], "there is no environment"),
        (["simia/retail-v0", "--profile", "tpu"], "there is no profile"),
        (["simia/retail-v0", "--engine", "sglang"], "--engine"),
        (["simia/retail-v0", "--resume"], "no training has begun"),
        (["simia/retail-v0", "--policy", "/nowhere/at/all"], "there is no folder"),
        (["simia/retail-v0", "--simulator", "llm"], "model"),
        (["simia/retail-v0", "--max-cost", "1"], "nothing is played by a model"),
    ],
)
def test_bad_input_ends_before_anything_starts(words: list[str], what: str, tmp_path: Path) -> None:
    done = simia("train", "grpo", *words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert what in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").rglob("settings.json"))


@pytest.mark.usefixtures("installed")
def test_an_endpoint_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    words = ["--simulator", "llm", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"]
    done = simia("train", "grpo", "simia/retail-v0", *words, cwd=tmp_path, OPENAI_API_KEY="x")
    assert done.returncode == 2, done.stderr
    assert "127.0.0.1:9" in done.stderr
    assert not (tmp_path / "runs").exists()


def dry_run(tmp_path: Path, *words: str) -> dict[str, Any]:
    done = simia("train", "grpo", *words, "--dry-run", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    found["said"] = done.stderr
    assert not (tmp_path / "runs").exists()
    return found


@pytest.mark.usefixtures("installed")
@pytest.mark.slow
def test_a_dry_run_for_eight_cards(tmp_path: Path) -> None:
    """Qwen3-8B by its name: neither its files nor a card are needed."""
    words = ["--profile", "gpu_1x8", "--policy", "Qwen/Qwen3-8B", "--generated", "2000", "--env", "simia/webshop-v0=2"]
    found = dry_run(tmp_path, "simia/retail-v0", *words)
    memory = found["memory"]
    assert memory["parameters"] == pytest.approx(8.19e9, rel=0.01)
    assert memory["weights_gib"] == pytest.approx(4 * 8.19e9 / 8 / 2**30, rel=0.01)
    assert memory["fits"]
    assert found["episodes_per_step"] == 512
    assert found["tokens_per_step"] == 512 * 16_384
    assert found["prompts"] is None
    config = yaml.safe_load(found["configuration"])
    assert config["trainer"]["n_gpus_per_node"] == 8
    assert config["actor_rollout_ref"]["rollout"]["name"] == "vllm"
    assert "fits (by formula, not measured)" in found["said"]


@pytest.mark.usefixtures("installed")
@pytest.mark.slow
def test_a_dry_run_for_two_nodes_with_a_model_for_the_world(tmp_path: Path) -> None:
    """A policy by its ``config.json``; the simulator's calls are counted and priced, and nobody is asked."""
    folder = tmp_path / "policy"
    folder.mkdir()
    shape = {"hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 4}
    shape |= {"intermediate_size": 8192, "vocab_size": 100_000, "max_position_embeddings": 32_768}
    (folder / "config.json").write_text(json.dumps(shape), encoding="utf-8")
    prices = ["--role", "simulator.price_in=0.5", "--role", "simulator.price_out=2"]
    world = ["--simulator", "llm", "--model", "m", "--base-url", "http://127.0.0.1:9/v1", *prices]
    words = ["--profile", "multi_node", "--steps", "10", "--policy", "some/model", *world]
    found = dry_run(tmp_path, "simia/retail-v0", *words)
    assert found["memory"] is None
    calls = found["calls"]["simia/retail-v0"]
    assert calls["calls"]["simulator"] > 100
    assert calls["cost_usd"] > 0
    config = yaml.safe_load(found["configuration"])
    assert config["trainer"]["nnodes"] == 2
    assert config["ray_kwargs"]["ray_init"]["address"] == "auto"
    done = simia("train", "grpo", "simia/retail-v0", *words, "--policy", str(folder), "--dry-run", cwd=tmp_path)
    assert done.returncode == 2
    assert "the tokenizer of" in done.stderr


@pytest.mark.usefixtures("installed")
@pytest.mark.slow
def test_a_dry_run_on_processors_measures_prompts(tmp_path: Path) -> None:
    found = dry_run(tmp_path, "simia/retail-v0", "--steps", "3", "--groups", "2", "--group-size", "4")
    assert found["memory"] is None
    assert found["episodes"] == 24
    assert 50 < found["prompts"]["simia/retail-v0"] < 2048
    assert found["calls"] == {}
    from simia_gym.rl.small.build import build_policy

    policy = build_policy(tmp_path / "policy", "simia/retail-v0", conversations=20, hidden=64, heads=2)
    words = ("--policy", str(policy), "--max-prompt-length", "20")
    done = simia("train", "grpo", "simia/retail-v0", *words, "--dry-run", cwd=tmp_path)
    assert done.returncode == 2
    assert "prompts are never cut" in done.stderr
