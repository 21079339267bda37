"""Patches of verl 0.9.1 that no registry of verl makes unnecessary.

Each patch has a test that fails as soon as verl no longer needs it.
"""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any

from simia_gym.rl.verl_plugin.after_import import after_import

CLASS = "AutoModelForCausalLMWithValueHead"
BACKEND = "cpu:gloo"


def one_backend(module: ModuleType) -> None:
    """Initialise torch.distributed with one backend for CPU.

    verl asks for ``cpu:gloo`` and for the backend of the device, which is the same here; torch refuses a duplicate.
    """
    original = module.initialize_global_process_group_ray

    @functools.wraps(original)
    def initialize_global_process_group_ray(timeout_second: Any = None, backend: Any = None) -> None:
        original(timeout_second=timeout_second, backend=backend or BACKEND)

    module.initialize_global_process_group_ray = initialize_global_process_group_ray  # type: ignore[attr-defined]


def no_pinned_memory(module: ModuleType) -> None:
    """Keep the reference model in ordinary memory; pinned memory needs a GPU driver."""
    original = module.CPUOffloadPolicy

    @functools.wraps(original, updated=())
    def offload_policy(pin_memory: bool = True) -> Any:
        return original(pin_memory=False)

    module.CPUOffloadPolicy = offload_policy  # type: ignore[attr-defined]


@functools.cache
def has_value_head() -> bool:
    """Whether the installed TRL has the class that verl imports."""
    for name in ("trl.experimental.ppo", "trl"):
        try:
            if hasattr(importlib.import_module(name), CLASS):
                return True
        except ImportError:
            continue
    return False


def without_value_head(module: ModuleType) -> None:
    """Let a module of verl use TRL only if TRL has the class.

    If TRL is installed, verl imports a class of value heads that TRL 1.16 no longer has, and fails. We do not need that
    class, so verl is told that TRL is not installed.
    """
    original = module.is_trl_available
    module.is_trl_available = lambda: original() and has_value_head()  # type: ignore[attr-defined]


def install(*, on_cpu: bool) -> None:
    """Patch verl's modules when they are imported."""
    after_import("verl.models.transformers.monkey_patch", without_value_head)
    after_import("verl.utils.model", without_value_head)
    if on_cpu:
        after_import("verl.utils.distributed", one_backend)
        after_import("verl.workers.engine.fsdp.transformer_impl", no_pinned_memory)
