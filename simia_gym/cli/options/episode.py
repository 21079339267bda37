"""What the commands that play episodes make of their options."""

from __future__ import annotations

from typing import Annotated

import typer

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.cli.options.generate import Typed
from simia_gym.domain.naming import resolve_env

Environment = Annotated[str, typer.Argument(metavar="ENV", help="An id from `simia list`, or the folder of a domain.")]


def typed_config(typed: Typed, env: str, sources: ModelSources) -> EnvConfig:
    """The environment that is meant.

    Args:
        typed: What was typed for `EnvConfig`.
        env: The environment as it was typed.
        sources: The models, whose settings by role are part of it.

    Raises:
        InputError: There is no such environment, or a setting is impossible.
    """
    values = typed.values(EnvConfig)
    env, domain = resolve_env(env, values.pop("domain", None))
    return EnvConfig(env=env, domain=domain, roles=sources.roles(), **values)
