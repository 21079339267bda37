"""The plug-in for verl: processors as a platform, patches that are still needed, and nothing of it elsewhere."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from .libraries import FOR_VERL, need

need("torch", "ray", "verl")

import torch
import verl.utils.distributed as distributed

from simia_gym.rl.verl_plugin.after_import import after_import

QUIET = {name: value for name, value in FOR_VERL.items() if name not in ("VERL_PLATFORM", "VERL_ENGINE_DEVICE")}


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, with no other variables of verl than these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VERL_")}
    command = [sys.executable, "-W", "ignore", "-c", code]
    return subprocess.run(command, env={**kept, **QUIET, **variables}, capture_output=True, text=True, check=False)


def in_a_process(code: str, **variables: str) -> str:
    done = run(code, **variables)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The variables of a process group of one."""
    store = f"file://{tmp_path}/store"
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "DIST_INIT_METHOD": store}.items():
        monkeypatch.setenv(name, value)
    yield
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def test_verl_finds_the_platform_by_the_entry_point_alone() -> None:
    code = (
        "import verl; from verl.plugin.platform import get_platform; print(get_platform().communication_backend_name())"
    )
    assert in_a_process(code, VERL_PLATFORM="cpu").strip() == "gloo"


def test_a_plug_in_that_cannot_be_loaded_ends_a_process_of_the_launch() -> None:
    done = run("import verl", **FOR_VERL, VERL_USE_EXTERNAL_MODULES="simia_gym.rl.verl_plugin.not_there")
    assert done.returncode != 0
    assert "simia_gym.rl.verl_plugin.not_there" in done.stderr


def test_elsewhere_nothing_of_verl_is_changed() -> None:
    code = """
import verl
from verl.plugin.platform import PlatformRegistry
import verl.utils.distributed as distributed, verl.workers.rollout.replica as replica
import simia_gym.rl.verl_plugin.load
print("cpu" in PlatformRegistry.registered_names())
print(distributed.initialize_global_process_group_ray.__module__)
print(hasattr(distributed.initialize_global_process_group_ray, "__wrapped__"))
print("hf_server" in replica.RolloutReplicaRegistry._registry, "vllm" in replica.RolloutReplicaRegistry._registry)
"""
    # Another platform that is installed everywhere, so that none is looked for.
    lines = in_a_process(code, VERL_PLATFORM="nvidia").split()
    assert lines == ["False", "verl.utils.distributed", "False", "True", "True"]


def test_one_backend_is_needed_as_long_as_torch_refuses_two_of_a_kind(one_process: None) -> None:
    """If this fails, verl does without `patches.one_backend`: remove it."""
    original = distributed.initialize_global_process_group_ray.__wrapped__
    with pytest.raises(ValueError, match="Duplicate device type"):
        original()
    distributed.initialize_global_process_group_ray()
    value = torch.ones(2)
    torch.distributed.all_reduce(value)
    assert value.tolist() == [1.0, 1.0]


def _backward(offload_policy: Any) -> float:
    """A step of a sharded layer that waits in the machine's memory, as verl's reference model does."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    distributed.initialize_global_process_group_ray()
    layer = torch.nn.Linear(2, 2, bias=False)
    fully_shard(layer, mesh=init_device_mesh("cpu", (1,)), offload_policy=offload_policy)
    return float(layer(torch.ones(1, 2)).sum().detach())


def test_pinned_memory_is_refused_without_a_card(one_process: None) -> None:
    """If this fails, torch or verl do without `patches.no_pinned_memory`: remove it."""
    import verl.workers.engine.fsdp.transformer_impl as engine
    from torch.distributed.fsdp import CPUOffloadPolicy

    assert "CPUOffloadPolicy(pin_memory=True)" in inspect.getsource(engine)
    with pytest.raises(RuntimeError, match="accelerator"):
        _backward(CPUOffloadPolicy(pin_memory=True))
    policy = engine.CPUOffloadPolicy(pin_memory=True)
    assert policy.pin_memory is False
    assert isinstance(_backward(policy), float)


def test_verl_asks_trl_for_a_class_that_it_no_longer_has() -> None:
    """If this fails, verl and TRL fit together again: remove `patches.without_value_head`."""
    pytest.importorskip("trl", reason="TRL is not installed")
    code = """
from verl.models.transformers.monkey_patch import is_trl_available
print(is_trl_available())
try:
    from trl.experimental.ppo import AutoModelForCausalLMWithValueHead
except ImportError:
    from trl import AutoModelForCausalLMWithValueHead
"""
    done = run(code, VERL_USE_EXTERNAL_PLUGINS="none", VERL_PLATFORM="nvidia")
    assert done.stdout.strip() == "True"
    assert "AutoModelForCausalLMWithValueHead" in done.stderr
    assert in_a_process(code.split("try:")[0], VERL_PLATFORM="nvidia").strip() == "False"


def test_after_import_acts_once_before_the_importer_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "awaited_module.py").write_text("value = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen: list[ModuleType] = []

    def act(module: ModuleType) -> None:
        seen.append(module)
        module.__dict__["value"] = 2

    after_import("awaited_module", act)
    assert not seen
    import awaited_module  # type: ignore[import-not-found]

    assert awaited_module.value == 2
    assert inspect.getsource(awaited_module) == "value = 1\n"
    after_import("awaited_module", seen.append)
    assert seen == [awaited_module, awaited_module]
    monkeypatch.delitem(sys.modules, "awaited_module")
