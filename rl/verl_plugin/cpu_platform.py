"""CPU as a platform of verl. verl 0.9.1 has CUDA, NPU and ROCm, and a registry for others."""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry

NAME = "cpu"


def _nothing(*given: object, **named: object) -> None:
    return None


def _device_module() -> types.ModuleType:
    """A stand-in for ``torch.cuda`` without device memory and streams."""
    module = types.ModuleType("simia_gym_cpu_device")
    without_effect = ("synchronize", "empty_cache", "set_device", "ipc_collect", "current_stream")
    bytes_of_memory = ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved")
    vars(module).update(
        dict.fromkeys(without_effect, _nothing),
        **dict.fromkeys(bytes_of_memory, lambda *device: 0),
        is_available=lambda: False,
        device_count=lambda: 1,
        mem_get_info=lambda *device: (0, 0),
        get_device_name=lambda *device: NAME,
        get_rng_state=torch.get_rng_state,
        set_rng_state=torch.set_rng_state,
    )
    return module


@PlatformRegistry.register(platform=NAME)
class CPUPlatform(PlatformBase):
    """CPU: gloo between processes, shared memory for weights, no devices to choose from.

    This module is only imported on request, since every machine has a CPU, also one with a GPU to train on.
    """

    device_name = NAME
    vendor_name = NAME
    device_module = _device_module()

    def is_available(self) -> bool:
        """Always available."""
        return True

    def current_device(self) -> torch.device:
        """The device itself: an index, which other platforms return, would mean a GPU to torch."""
        return torch.device(NAME)

    def device_count(self) -> int:
        """One for each process."""
        return 1

    # A CPU computes synchronously, without caches and allocators to care for, and there is no profiler.
    set_device = synchronize = set_allocator_settings = empty_cache = profiler_start = profiler_stop = cudart = _nothing

    manual_seed = manual_seed_all = staticmethod(torch.manual_seed)

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:
        """No compute capability."""
        return None, None

    def communication_backend_name(self) -> str:
        """Backend of torch.distributed."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """A variable that has no effect here."""
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        """No profiler."""
        yield

    def ray_resource_name(self) -> str:
        """Resource that verl's placement asks for; Ray is started with a declared number of them."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """None."""
        return []

    def is_ipc_supported(self) -> bool:
        """No; verl then passes weights through shared memory."""
        return False
