"""Processors as one of verl's platforms. verl 0.9.1 brings CUDA, NPU and ROCm, and a registry for others."""

from __future__ import annotations

import os
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry

NAME = "cpu"


def _nothing(*given: object, **named: object) -> None:
    return None


def _no_bytes(*given: object, **named: object) -> int:
    return 0


def _device_module() -> types.ModuleType:
    """What ``torch.cuda`` is there: the same names, about memory and queues that do not exist here."""
    module = types.ModuleType("simia_gym_cpu_device")
    for name in ("synchronize", "empty_cache", "set_device", "ipc_collect", "current_stream"):
        setattr(module, name, _nothing)
    for name in ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved"):
        setattr(module, name, _no_bytes)
    own: dict[str, Any] = {
        "reset_peak_memory_stats": _nothing,
        "is_available": lambda: False,
        "current_device": lambda: NAME,
        "device_count": lambda: 1,
        "mem_get_info": lambda *device: (0, 0),
        "get_device_name": lambda *device: NAME,
        "manual_seed": torch.manual_seed,
        "manual_seed_all": torch.manual_seed,
        "get_rng_state": torch.get_rng_state,
        "set_rng_state": torch.set_rng_state,
    }
    for name, value in own.items():
        setattr(module, name, value)
    return module


class CPUPlatform(PlatformBase):
    """Processors: gloo between processes, shared memory for weights, no device to choose."""

    device_name = NAME
    vendor_name = NAME
    device_module = _device_module()

    def is_available(self) -> bool:
        """There is always one."""
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        """Only where it is asked for: processors are everywhere, and no reason to leave a graphics card alone."""
        return os.environ.get("VERL_PLATFORM", "").strip().lower() == NAME

    def current_device(self) -> torch.device:
        """As a device: an index, as other platforms give it, would mean a graphics card to torch."""
        return torch.device(NAME)

    def device_count(self) -> int:
        """One a process."""
        return 1

    def set_device(self, device_index: int) -> None:
        """Nothing to choose."""

    def synchronize(self, device_index: int | None = None) -> None:
        """Nothing runs besides."""

    def manual_seed(self, seed: int) -> None:
        """Seed torch."""
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seed torch."""
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        """The allocator has none."""

    def empty_cache(self) -> None:
        """There is none."""

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:
        """None that verl knows."""
        return None, None

    def communication_backend_name(self) -> str:
        """What processes talk by."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """A name that hides nothing here."""
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        """No profiler."""
        yield

    def profiler_start(self) -> None:
        """No profiler."""

    def profiler_stop(self) -> None:
        """No profiler."""

    def ray_resource_name(self) -> str:
        """What the placement asks for; Ray is told of so many, which exist by declaration alone."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """None."""
        return []

    def is_ipc_supported(self) -> bool:
        """No; verl then hands weights over in shared memory."""
        return False

    def cudart(self) -> None:
        """None."""
        return


def register() -> None:
    """Make it known to verl under the name ``cpu``."""
    PlatformRegistry.register(platform=NAME)(CPUPlatform)
