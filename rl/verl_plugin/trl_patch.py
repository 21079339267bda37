"""verl 0.9.1 beside a TRL that has moved on, on every platform.

Where TRL is installed, verl takes a class of value heads from it that TRL 1.16 no longer has, and ends. Nothing here
needs that class, so verl is told that there is no TRL; where TRL still has it, everything is as it was.
"""

from __future__ import annotations

import functools
import importlib
from types import ModuleType

from simia_gym.rl.verl_plugin.after_import import after_import

CLASS = "AutoModelForCausalLMWithValueHead"


@functools.cache
def has_value_head() -> bool:
    """Whether the installed TRL has the class, where verl looks for it."""
    for name in ("trl.experimental.ppo", "trl"):
        try:
            if hasattr(importlib.import_module(name), CLASS):
                return True
        except ImportError:
            continue
    return False


def without_value_head(module: ModuleType) -> None:
    """Let a module of verl use TRL only if it has the class."""
    original = module.is_trl_available
    module.is_trl_available = lambda: original() and has_value_head()  # type: ignore[attr-defined]


def install() -> None:
    """Put it in as verl's modules are imported."""
    after_import("verl.models.transformers.monkey_patch", without_value_head)
    after_import("verl.utils.model", without_value_head)
