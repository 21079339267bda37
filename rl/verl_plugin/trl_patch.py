"""Lets verl 0.9.1 run with newer versions of TRL, on every platform.

If TRL is installed, verl imports a class of value heads that TRL 1.16 no longer has, and fails. We do not need that
class, so verl is told that TRL is not installed; if TRL has the class, nothing changes.
"""

from __future__ import annotations

import functools
import importlib
from types import ModuleType

from simia_gym.rl.verl_plugin.after_import import after_import

CLASS = "AutoModelForCausalLMWithValueHead"


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
    """Let a module of verl use TRL only if TRL has the class."""
    original = module.is_trl_available
    module.is_trl_available = lambda: original() and has_value_head()  # type: ignore[attr-defined]


def install() -> None:
    """Patch verl's modules when they are imported."""
    after_import("verl.models.transformers.monkey_patch", without_value_head)
    after_import("verl.utils.model", without_value_head)
