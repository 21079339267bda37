"""simia_gym: Gymnasium environments for tool-using agents.

Importing this package registers the environments; everything else is loaded when first used.

    import gymnasium as gym, simia_gym
    env = gym.make("simia/retail-v0")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from simia_gym.domain.registration import env_ids, register_all
from simia_gym.version import __version__

if TYPE_CHECKING:
    from simia_gym.assembly.settings import EnvConfig
    from simia_gym.assembly.suite import Suite, load_suite
    from simia_gym.episode import Episode

_LAZY = {
    "EnvConfig": "simia_gym.assembly.settings",
    "Episode": "simia_gym.episode",
    "Suite": "simia_gym.assembly.suite",
    "load_suite": "simia_gym.assembly.suite",
}

__all__ = ["EnvConfig", "Episode", "Suite", "__version__", "env_ids", "load_suite", "register_all"]


def __getattr__(name: str) -> Any:
    """Load a public name from its module when it is first asked for."""
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


register_all()
