"""The rollout engine ``hf_server`` for verl: `Generator` behind verl's server interface, on CPU or GPU.

verl 0.9.1 has engines for vLLM, SGLang and TensorRT-LLM. This one needs only transformers. It is for machines without
vLLM and is fast for small models; on GPUs it is a fallback.

It has the three parts of every verl engine: the server is a Ray actor that samples, the replica launches the server,
and the adapter in the trainer's process sends the new weights to the server after each step.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import ray
import torch
from verl.plugin.platform import get_platform
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput

from simia_gym.errors import InputError
from simia_gym.rl.generation.generator import Generator
from simia_gym.rl.generation.loading import find_model, fitting_slots, load_model, load_tokenizer
from simia_gym.rl.generation.sampling import Sampling
from simia_gym.rl.generation.weights import WeightUpdate, weights_sum

NAME = "hf_server"
_MEGABYTE = 1 << 20
SETTINGS = ("slots", "chunk", "threads")
_SLOTS = 256
_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "repetition_penalty": (1, 1.0, None),
    "presence_penalty": (0, 0.0, None),
    "frequency_penalty": (0, 0.0, None),
    "min_p": (0, 0.0, None),
    "n": (1, None),
    "ignore_eos": (False, None),
    "stop": (None, (), []),
}
"""Sampling parameters that are not supported, and the values that have no effect."""
_TAKEN = ("temperature", "top_p", "top_k", "max_tokens", "max_new_tokens", "logprobs", "seed", "stop_token_ids")
_ABOUT_TEXT = ("skip_special_tokens", "spaces_between_special_tokens", "detokenize")
"""Sampling parameters about the text, which this server does not return."""


class HFServer:
    """Samples for verl's agent loops. A Ray actor, all of whose methods run on one event loop.

    Args:
        config: verl's rollout configuration. ``engine_kwargs.hf_server`` may hold ``slots`` (conversations whose keys
            and values are kept), ``chunk`` (prompt tokens in one step) and ``threads``.
        model_config: verl's model configuration.
        replica_rank: Index of the replica.
        devices: GPUs of the trainer's process on this node; the first is used.

    Raises:
        InputError: The model cannot be loaded, or a setting is wrong.
    """

    def __init__(self, config: Any, model_config: Any, replica_rank: int = 0, devices: Sequence[str] = ()) -> None:
        self.config, self.replica_rank = config, replica_rank
        self.global_steps: int | None = None
        own = dict((config.engine_kwargs or {}).get("hf_server") or {})
        unknown = [name for name in own if name not in SETTINGS]
        if unknown:
            where, fix = "rollout.engine_kwargs.hf_server", f"Known: {', '.join(SETTINGS)}."
            raise InputError(f"unknown setting {unknown[0]!r}", where=where, fix=fix)
        platform, device = get_platform(), "cpu"
        if devices and platform.device_name != "cpu":
            os.environ[platform.visible_devices_envvar()] = devices[0]  # before torch initialises its devices
            device = f"{platform.device_name}:0"
        folder = find_model(str(getattr(model_config, "local_path", None) or model_config.path), where="model.path")
        loaded = load_model(folder, load_tokenizer(folder), device=device, dtype=str(target_type(config.dtype))[6:])
        length = config.max_model_len or config.prompt_length + config.response_length
        if length > loaded.length:
            what = f"conversations of {length} tokens are longer than the model's {loaded.length}"
            raise InputError(what, where="rollout.max_model_len", fix="Give a smaller one, or shorter responses.")
        wanted = int(own.get("slots") or min(config.max_num_seqs, _SLOTS))
        self.generator = Generator(
            loaded.model,
            end_ids=loaded.end_ids,
            max_length=length,
            slots=fitting_slots(loaded.model, wanted, length),
            seed=int(config.seed) + replica_rank if getattr(config, "seed", None) is not None else replica_rank,
            chunk=int(own.get("chunk", 1024)),
            threads=own.get("threads"),
        )
        self._open = asyncio.Event()
        self._open.set()
        self._rejecting = False
        self._update: WeightUpdate | None = None
        self._mixed = False

    async def ready(self) -> bool:
        """Return when the model is loaded."""
        return True

    async def generate(
        self,
        prompt_ids: Sequence[int],
        sampling_params: Mapping[str, Any],
        request_id: str,
        image_data: Any = None,
        video_data: Any = None,
        audio_data: Any = None,
        mm_processor_kwargs: Any = None,
        **more: Any,
    ) -> TokenOutput:
        """Sample one turn, tokens in and tokens out, with log-probabilities under the temperature, as in the trainer.

        verl's request ids are new for each turn, so the conversation is found by its tokens.

        Raises:
            InputError: The prompt leaves no room, or a parameter is not supported.
        """
        if any(data is not None and len(data) for data in (image_data, video_data, audio_data)):
            raise InputError("only text is supported", where="rollout.name=hf_server", fix="Use vllm.")
        while not self._open.is_set():
            if self._rejecting:
                return self._output([], None, "aborted")
            await self._open.wait()
        if self._mixed:
            raise RuntimeError("the last update of the weights failed half-way")
        prompt = [int(item) for item in prompt_ids]
        how = self._sampling(sampling_params, len(prompt))
        turn = await self.generator.generate(str(request_id), prompt, how)
        logprobs = turn.logprobs if sampling_params.get("logprobs") else None
        return self._output(turn.token_ids, logprobs, "aborted" if turn.stop == "aborted" else "completed")

    async def begin_weights(self) -> None:
        """Start a weight update; sampling pauses until it is complete."""
        await self.generator.pause()
        self._update, self._mixed = self.generator.begin_update(), False

    async def take_weights(self, packed: Sequence[tuple[str, str, tuple[int, ...], Any]]) -> dict[str, int]:
        """Copy a part of the weights; return checksums of the copied parameters in the model, by name."""
        update = self._updating()
        named = unpack(packed)

        def take() -> dict[str, int]:
            update.copy(named)
            return update.sums(name for name, _ in named)

        try:
            sums: dict[str, int] = await self.generator.call(take)
        except Exception:
            await self._give_up()
            raise
        return sums

    async def end_weights(self, global_steps: int | None = None) -> None:
        """Complete a weight update of a training step.

        Raises:
            InputError: A parameter is missing.
        """
        update = self._updating()
        try:
            update.finish()
        except InputError:
            await self._give_up()
            raise
        await self.generator.clear()
        self._update = None
        if global_steps is not None:
            self.global_steps = global_steps
        await self.generator.resume()

    async def _give_up(self) -> None:
        """After a failed update the weights are inconsistent: fail all requests until an update succeeds."""
        self._mixed = True
        await self.generator.abort()
        await self.generator.resume()

    async def sleep(self) -> None:
        """Free the memory of keys and values for the trainer; the weights stay."""
        if self.config.free_cache_engine:
            await self.generator.clear()

    async def clear_kv_cache(self) -> None:
        """Drop all cached keys and values and free their memory."""
        await self.generator.clear()

    release_kv_cache = clear_kv_cache

    async def abort_all_requests(self, reset_prefix_cache: bool = True, reject_request: bool = False) -> dict[str, Any]:
        """End all turns with the tokens sampled so far. Later requests wait for `resume_generation`.

        Args:
            reset_prefix_cache: Whether to drop cached keys and values, too.
            reject_request: Whether later requests return at once, as aborted.

        Returns:
            ``aborted_count`` and ``request_ids``.
        """
        self._rejecting = reject_request
        self._open.clear()
        aborted = await self.generator.abort()
        if reset_prefix_cache:
            await self.generator.clear()
        return {"aborted_count": len(aborted), "request_ids": aborted}

    async def resume_generation(self) -> None:
        """Accept requests again."""
        self._rejecting = False
        self._open.set()

    async def wake_up(self, *given: Any, **named: Any) -> None:
        """Nothing to do: memory is allocated when it is needed, and there is no profiler."""

    resume_kv_cache = start_profile = stop_profile = wake_up

    async def close(self) -> None:
        """Close the generator."""
        await asyncio.to_thread(self.generator.close)

    def _updating(self) -> WeightUpdate:
        if self._update is None:
            raise RuntimeError("weights came without begin_weights")
        return self._update

    def _output(self, token_ids: list[int], logprobs: list[float] | None, stop: str) -> TokenOutput:
        return TokenOutput(
            token_ids=token_ids,
            log_probs=logprobs,
            stop_reason=stop,
            num_preempted=0,
            extra_fields={"global_steps": self.global_steps},
        )

    def _sampling(self, given: Mapping[str, Any], prompt_length: int) -> Sampling:
        for name, value in given.items():
            if name not in (*_TAKEN, *_ABOUT_TEXT) and value not in _NEUTRAL.get(name, (None,)):
                what = f"{name}={value!r} is not supported"
                raise InputError(what, where="rollout.name=hf_server", fix="Leave it out, or use vllm.")
        config = self.config
        most = given.get("max_tokens", given.get("max_new_tokens"))
        if most is None:
            most = min(config.response_length, config.prompt_length + config.response_length - prompt_length)
        return Sampling(
            temperature=float(given.get("temperature", 1.0)),
            top_p=float(given.get("top_p") or 1.0),
            top_k=max(0, int(given.get("top_k") or 0)),  # -1 means all tokens, as in vLLM
            max_tokens=max(1, int(most)),
            stop_token_ids=tuple(given.get("stop_token_ids") or ()),
            seed=given.get("seed"),
        )


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

    async def resume(self, tags: list[str]) -> None:
        """Prepare the server for sampling."""
        if self.config.free_cache_engine:
            await self._server.wake_up.remote(tags=tags)

    async def release(self) -> None:
        """Free the server's cache memory for the trainer."""
        if self.config.free_cache_engine:
            await self._server.sleep.remote()

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
        server = self._server
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

    @cached_property
    def _server(self) -> Any:
        """The server, which is launched after this adapter is created."""
        return ray.get_actor(f"{NAME}_{self._rank}_0")


def target_type(name: str) -> Any:
    """The dtype of the server's weights.

    Raises:
        InputError: There is no dtype of that name.
    """
    short = {"bf16": "bfloat16", "fp32": "float32", "fp16": "float16", "half": "float16", "float": "float32"}
    dtype = getattr(torch, short.get(name, name), None)
    if not isinstance(dtype, torch.dtype):
        raise InputError(f"{name!r} is no floating-point dtype", where="rollout.dtype", fix="Give float32 or bfloat16.")
    return dtype


def pack(named: Sequence[tuple[str, Any]]) -> list[tuple[str, str, tuple[int, ...], Any]]:
    """Tensors as numpy arrays of bytes, which Ray passes through shared memory, in any precision."""
    return [
        (name, str(tensor.dtype)[6:], tuple(tensor.shape), tensor.contiguous().view(-1).view(torch.uint8).numpy())
        for name, tensor in named
    ]


def unpack(packed: Sequence[tuple[str, str, tuple[int, ...], Any]]) -> list[tuple[str, Any]]:
    """Undo `pack`; the tensors are copies."""
    return [
        (name, torch.from_numpy(np.array(data)).view(getattr(torch, dtype)).view(shape))
        for name, dtype, shape, data in packed
    ]


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
