"""verl's vLLM rollout engine with vLLM's CPU build; only the loading of new weights differs."""

from __future__ import annotations

from typing import Any

import ray
from verl.workers.rollout.vllm_rollout.vllm_async_server import vLLMHttpServer, vLLMReplica


class CPUVLLMServer(vLLMHttpServer):
    """A server whose workers load new weights in a way that works with vLLM's CPU backend."""

    def _get_worker_extension_cls(self) -> str:
        return "simia_gym.rl.verl_plugin.vllm_cpu_worker.CPUWorkerExtension"


class CPUVLLMReplica(vLLMReplica):
    """verl's replica with `CPUVLLMServer`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.server_class = ray.remote(CPUVLLMServer)

    def _get_server_name_prefix(self) -> str:
        return "vllm_cpu_"  # the adapter in the trainer looks for the server under the name of the rollout
