"""Options shared by the commands that play episodes."""

from __future__ import annotations

from typing import Annotated

import typer

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.cli.options.generate import Typed
from simia_gym.domain.naming import resolve_env

Environment = Annotated[str, typer.Argument(metavar="ENV", help="An id from `simia list`, or the folder of a domain.")]


def typed_config(typed: Typed, env: str, sources: ModelSources) -> EnvConfig:
    """Build the environment's settings from the command line.

    Args:
        typed: The parsed options of `EnvConfig`.
        env: The environment as typed: an id or a folder.
        sources: The models, with their settings by role.

    Raises:
        InputError: There is no such environment, or a setting is invalid.
    """
    values = typed.values(EnvConfig)
    env, domain = resolve_env(env, values.pop("domain", None))
    return EnvConfig(env=env, domain=domain, roles=sources.roles(), **values)
