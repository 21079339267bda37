"""Patches of verl 0.9.1 that no registry of verl makes unnecessary.

Each patch has a test that fails as soon as verl no longer needs it. ``benchmarks/verl_patches.py`` runs a training
without each of them.
"""

from __future__ import annotations

import functools
import importlib
import os
from types import ModuleType
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.verl_plugin.after_import import Action, after_import
from simia_gym.rl.verl_plugin.scored_positions import scored_forward, scored_inputs

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

    def initialize_global_process_group(timeout_second: int = 36_000) -> None:
        initialize_global_process_group_ray(timeout_second)

    module.initialize_global_process_group_ray = initialize_global_process_group_ray  # type: ignore[attr-defined]
    module.initialize_global_process_group = initialize_global_process_group  # type: ignore[attr-defined]


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


def loss_of_nothing(module: ModuleType) -> None:
    """Let the loss of a mini-batch without unmasked tokens be 0; verl divides 0 by their number and gets NaN."""
    original = module.agg_loss

    @functools.wraps(original)
    def agg_loss(loss_mat: Any, loss_mask: Any, *given: Any, **named: Any) -> Any:
        if not loss_mask.any():
            return loss_mat.masked_fill(~loss_mask.bool(), 0.0).sum()
        return original(loss_mat, loss_mask, *given, **named)

    module.agg_loss = agg_loss  # type: ignore[attr-defined]


_FSDP = "verl.workers.engine.fsdp.transformer_impl"
PATCHES: dict[str, tuple[tuple[Action, str], ...]] = {
    "without_value_head": (
        (without_value_head, "verl.models.transformers.monkey_patch"),
        (without_value_head, "verl.utils.model"),
    ),
    "loss_of_nothing": ((loss_of_nothing, "verl.trainer.ppo.core_algos"),),
    "one_backend": ((one_backend, "verl.utils.distributed"),),
    "no_pinned_memory": ((no_pinned_memory, _FSDP),),
    "scored_positions": ((scored_forward, "verl.models.transformers.dense_common"), (scored_inputs, _FSDP)),
}
"""All patches by name: the functions that patch, each with the module of verl that it changes."""
ON_CPU = ("one_backend", "no_pinned_memory", "scored_positions")
"""Patches that only trainings on CPU need."""
WITHOUT = "SIMIA_WITHOUT_PATCHES"
"""Variable with the names of patches to leave out, to see whether verl still needs them."""


def install(*, on_cpu: bool) -> None:
    """Patch verl's modules when they are imported.

    Raises:
        InputError: ``SIMIA_WITHOUT_PATCHES`` names an unknown patch.
    """
    without = [name for name in os.environ.get(WITHOUT, "").split(",") if name]
    for name in without:
        if name not in PATCHES:
            raise InputError(f"there is no patch {name!r}", where=WITHOUT, fix=f"Known: {', '.join(PATCHES)}.")
    for name, parts in PATCHES.items():
        if name not in without and (on_cpu or name not in ON_CPU):
            for patch, module in parts:
                after_import(module, patch)
