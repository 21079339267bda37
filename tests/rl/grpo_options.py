"""What `simia train grpo` was asked for, from flat keyword arguments."""

from __future__ import annotations

from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.rl.grpo.options import GrpoOptions
from simia_gym.rl.grpo.settings import GrpoSettings, LaunchSettings


def grpo_options(env: tuple[str, ...] = ("simia/retail-v0",), **given: Any) -> GrpoOptions:
    """Sort the arguments by the settings that they are fields of."""

    def taken(model: Any) -> dict[str, Any]:
        return {name: given.pop(name) for name in [*given] if name in model.fields()}

    launch, training, world = taken(LaunchSettings), taken(GrpoSettings), taken(EnvConfig)
    return GrpoOptions(env=env, launch=LaunchSettings(**launch), training=training, world=world, **given)
