"""verl's plug-in: verl imports this module in each of its processes, which registers our classes.

verl finds it by this package's entry point ``verl.plugins``. verl ignores a plug-in that fails to import, so the launch
also names this module in ``VERL_USE_EXTERNAL_MODULES``, where a failure ends the process.

The rollout engines ``hf_server`` and ``vllm_cpu`` and the advantage ``simia_grpo`` are always registered and have no
effect until a configuration names them. The platform and most patches are installed only if ``VERL_PLATFORM`` is
``cpu``; `simia_gym.rl.verl_plugin.patches` lists them.
"""

from __future__ import annotations

import os
from types import ModuleType

from simia_gym.rl.verl_plugin import patches
from simia_gym.rl.verl_plugin.after_import import after_import

CPU = "cpu"
HF_SERVER = "hf_server"
VLLM_CPU = "vllm_cpu"


def on_cpu() -> bool:
    """Whether verl trains on CPU."""
    return os.environ.get("VERL_PLATFORM", "").strip().lower() == CPU


def _replicas(module: ModuleType) -> None:
    def hf_server() -> type:
        from simia_gym.rl.verl_plugin.hf_server import HFServerReplica

        return HFServerReplica

    def vllm_cpu() -> type:
        from simia_gym.rl.verl_plugin.vllm_cpu import CPUVLLMReplica

        return CPUVLLMReplica

    module.RolloutReplicaRegistry.register(HF_SERVER, hf_server)
    module.RolloutReplicaRegistry.register(VLLM_CPU, vllm_cpu)


def _adapters(module: ModuleType) -> None:
    module._ROLLOUT_REGISTRY[HF_SERVER, "async"] = "simia_gym.rl.verl_plugin.hf_server.HFServerAdapter"
    module._ROLLOUT_REGISTRY[VLLM_CPU, "async"] = "verl.workers.rollout.vllm_rollout.ServerAdapter"


def _advantages(module: ModuleType) -> None:
    import simia_gym.rl.grpo.in_verl.advantage  # noqa: F401 - registers itself


patches.install(on_cpu=on_cpu())
after_import("verl.workers.rollout.replica", _replicas)
after_import("verl.workers.rollout.base", _adapters)
after_import("verl.trainer.ppo.core_algos", _advantages)

if on_cpu():
    import simia_gym.rl.verl_plugin.cpu_platform  # noqa: F401 - registers itself
