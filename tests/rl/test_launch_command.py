"""`simia train grpo` as it is typed: what is refused, and what a dry run says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from simia_gym.cli.app import run as main
from simia_gym.errors import InputError

HEAVY = ("torch", "ray", "verl", "vllm", "transformers", "trl", "hydra", "datasets", "matplotlib")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_help_is_light() -> None:
    code = f"""
import sys
from simia_gym.cli.app import run
for words in (["train", "--help"], ["train", "grpo", "--help"], ["train", "setup-vllm", "--help"]):
    assert run(words) == 0
assert not [name for name in {HEAVY!r} if name in sys.modules], [name for name in {HEAVY!r} if name in sys.modules]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from simia_gym.rl.extras import require

    monkeypatch.setattr("simia_gym.rl.extras.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'verl is not installed.*pip install "simia-gym\[rl\]"'):
        require("rl", "verl")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--profile", "tpu"], "there is no profile"),
        (["--resume"], "no training has begun"),
        (["--policy", "/nowhere/at/all"], "there is no folder"),
        (["--simulator", "llm"], "model"),
        (["--max-cost", "1"], "nothing is played by a model"),
        (["--simulator", "llm", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"], "127.0.0.1:9"),
    ],
)
def test_bad_input_ends_before_anything_starts(
    words: list[str], what: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert main(["train", "grpo", "simia/retail-v0", *words]) == 2
    assert what in capsys.readouterr().err
    assert not list(Path().rglob("settings.json"))


@pytest.mark.usefixtures("installed")
@pytest.mark.slow
def test_a_dry_run_for_two_nodes_with_a_model_for_the_world(capsys: pytest.CaptureFixture[str]) -> None:
    """The simulator's calls are counted and priced; no card, endpoint or file of the policy is needed."""
    prices = ["--role", "simulator.price_in=0.5", "--role", "simulator.price_out=2"]
    world = ["--simulator", "llm", "--model", "m", "--base-url", "http://127.0.0.1:9/v1", *prices]
    found = dry_run(capsys, "--profile", "multi_node", "--steps", "10", "--policy", "some/model", *world)
    assert (found["memory"], found["prompts"]) == (None, None)
    calls = found["calls"]["simia/retail-v0"]
    assert calls["calls"]["simulator"] > 100
    assert calls["cost_usd"] > 0
    config = yaml.safe_load(found["configuration"])
    assert config["trainer"]["nnodes"] == 2
    assert config["ray_kwargs"]["ray_init"]["address"] == "auto"


@pytest.mark.usefixtures("installed")
@pytest.mark.slow
def test_a_dry_run_on_processors_measures_prompts(capsys: pytest.CaptureFixture[str]) -> None:
    found = dry_run(capsys, "--steps", "3", "--groups", "2", "--group-size", "4")
    assert found["memory"] is None
    assert found["episodes"] == 24
    assert 50 < found["prompts"]["simia/retail-v0"] < 2048
    assert found["calls"] == {}


def dry_run(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["train", "grpo", "simia/retail-v0", *words, "--dry-run", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert not list(Path().iterdir())
    return found
