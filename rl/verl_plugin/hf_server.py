"""The rollout engine ``hf_server`` for verl: `Generator` behind verl's server interface, on CPU or GPU.

verl 0.9.1 has engines for vLLM, SGLang and TensorRT-LLM. This one needs only transformers. It is for machines without
vLLM and is fast for small models; on GPUs it is a fallback.

It has the three parts of every verl engine: the server is a Ray actor that samples, the replica launches the server,
and the adapter in the trainer's process sends the new weights to the server after each step.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import ray
import torch
from verl.plugin.platform import get_platform
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica

from simia_gym.errors import InputError
from simia_gym.rl.generation.weights import weights_sum
from simia_gym.rl.verl_plugin.hf_engine import HFServer, pack, target_type

NAME = "hf_server"
_MEGABYTE = 1 << 20


class HFServerReplica(RolloutReplica):
    """Launches one server: a model on one device. verl creates one replica for each rank of the trainer."""

    async def launch_servers(self) -> None:
        """Start the server on the node of the trainer's process that sends its weights.

        Raises:
            InputError: The configuration splits the model over several devices.
        """
        if self.world_size != 1:
            what = f"a replica would span {self.world_size} devices"
            fix = (
                "Set tensor_model_parallel_size, data_parallel_size and pipeline_model_parallel_size to 1, or use vllm."
            )
            raise InputError(what, where=f"rollout.name={NAME}", fix=fix)
        node, devices = await self.workers[0].__ray_call__.remote(_whereabouts)
        near = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node_id=node, soft=False)
        variables = {**dict.fromkeys(get_platform().ray_noset_envvars(), "1"), **get_platform().rollout_env_vars()}
        server = (
            ray.remote(HFServer)
            .options(
                name=self._server_name(),
                scheduling_strategy=near,
                runtime_env={"env_vars": variables},
                max_concurrency=self.max_concurrency,
                num_cpus=0,  # the trainer waits while it samples, so they share the cores
            )
            .remote(config=self.config, model_config=self.model_config, replica_rank=self.replica_rank, devices=devices)
        )
        await server.ready.remote()
        self.servers = [server]
        self._server_handle = server
        self._server_address = self._server_name()  # identifies the replica; there is no HTTP server

    def _server_name(self) -> str:
        kind = "reward_" if self.is_reward_model else "teacher_" if self.is_teacher_model else ""
        return f"{NAME}_{kind}{self.replica_rank}_0{self.name_suffix}"


class HFServerAdapter(BaseRollout):
    """Sends new weights from the trainer's process to the server of its rank."""

    def __init__(self, config: Any, model_config: Any, device_mesh: Any, replica_rank: int = -1) -> None:
        super().__init__(config, model_config, device_mesh)
        self._rank = int(os.environ.get("RANK", "0")) if replica_rank == -1 else replica_rank
        self._handle: Any = None

    async def resume(self, tags: list[str]) -> None:
        """Prepare the server for sampling."""
        if self.config.free_cache_engine:
            await self._server().wake_up.remote(tags=tags)

    async def release(self) -> None:
        """Free the server's cache memory for the trainer."""
        if self.config.free_cache_engine:
            await self._server().sleep.remote()

    @torch.no_grad()
    async def update_weights(
        self, weights: Any, global_steps: int | None = None, wire_format: str = "named_tensors", **more: Any
    ) -> None:
        """Send new weights and compare the server's checksums with those of the sent weights.

        Raises:
            InputError: The weights are those of an adapter, or differences.
            RuntimeError: The server's weights are not those that were sent.
        """
        from verl.workers.rollout.utils import ensure_async_iterator

        lora = getattr(self.model_config, "lora", None) or {}
        if wire_format != "named_tensors" or (more.get("peft_config") and not lora.get("merge", False)):
            what = f"it takes whole weights, neither changes ({wire_format}) nor adapters"
            fix = "Merge the adapter (model.lora.merge=True), or use vllm."
            raise InputError(what, where=f"rollout.name={NAME}", fix=fix)
        server = self._server()
        await server.begin_weights.remote()
        dtype = target_type(self.config.dtype)
        most = self.config.checkpoint_engine.update_weights_bucket_megabytes * _MEGABYTE
        bucket: list[tuple[str, Any]] = []
        size = 0
        async for name, tensor in ensure_async_iterator(weights):
            kept = tensor.detach().to(device="cpu", dtype=dtype if tensor.is_floating_point() else None, copy=True)
            if bucket and size + kept.nbytes > most:
                await _send(server, bucket)
                bucket, size = [], 0
            bucket.append((name, kept))
            size += kept.nbytes
        await _send(server, bucket)
        await server.end_weights.remote(global_steps)

    def _server(self) -> Any:
        if self._handle is None:  # the server is launched after this adapter is created
            self._handle = ray.get_actor(f"{NAME}_{self._rank}_0")
        return self._handle


async def _send(server: Any, bucket: Sequence[tuple[str, Any]]) -> None:
    sums = weights_sum(bucket)
    got = await server.take_weights.remote(pack(bucket))
    wrong = [name for name, value in sums.items() if got.get(name) != value]
    if wrong:
        raise RuntimeError(f"the weights of {wrong[0]!r} are not those that were sent ({len(wrong)} such parameters)")


def _whereabouts(worker: Any) -> tuple[str, list[str]]:
    """Runs in a worker of the trainer: its node, and its devices."""
    context = ray.get_runtime_context()
    listed = context.get_accelerator_ids().get(get_platform().ray_resource_name(), [])
    return context.get_node_id(), [str(item) for item in listed]
