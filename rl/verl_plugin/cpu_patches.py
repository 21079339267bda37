"""What has to be otherwise in verl 0.9.1 for processors, where no registry has a place for it.

Each patch is as small as it can be, and has a test that fails when verl does without it.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from simia_gym.rl.verl_plugin.after_import import after_import

BACKEND = "cpu:gloo"


def one_backend(module: ModuleType) -> None:
    """Name the backend of processors once.

    verl asks for ``cpu:gloo`` besides that of the device, which here is the same; torch refuses to be told twice.
    """
    original = module.initialize_global_process_group_ray

    @functools.wraps(original)
    def initialize_global_process_group_ray(timeout_second: Any = None, backend: Any = None) -> None:
        original(timeout_second=timeout_second, backend=backend or BACKEND)

    module.initialize_global_process_group_ray = initialize_global_process_group_ray  # type: ignore[attr-defined]


def no_pinned_memory(module: ModuleType) -> None:
    """Keep the reference model in ordinary memory; pinning it is a service of a graphics card's driver."""
    original = module.CPUOffloadPolicy

    @functools.wraps(original, updated=())
    def offload_policy(pin_memory: bool = True) -> Any:
        return original(pin_memory=False)

    module.CPUOffloadPolicy = offload_policy  # type: ignore[attr-defined]


def install() -> None:
    """Put them in as verl's modules are imported."""
    after_import("verl.utils.distributed", one_backend)
    after_import("verl.workers.engine.fsdp.transformer_impl", no_pinned_memory)
