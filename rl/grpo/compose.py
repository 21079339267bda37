"""Composes and validates verl's configuration from the overrides of a run, as verl does."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.extras import require

MAIN = "ppo_trainer"


def verl_config_folder() -> Path:
    """The folder of verl's configuration files; does not import verl, which takes seconds."""
    require("rl", "verl")
    spec = importlib.util.find_spec("verl")
    assert spec is not None
    for folder in spec.submodule_search_locations or ():
        path = Path(folder) / "trainer" / "config"
        if (path / f"{MAIN}.yaml").is_file():
            return path
    fix = 'Install the version that is known to work: pip install "simia-gym[rl]"'
    raise InputError("the installed verl has no configuration of its PPO trainer", where="verl", fix=fix)


def compose(overrides: Sequence[str]) -> Any:
    """Compose the configuration that `verl.trainer.main_ppo` gets with the same overrides.

    Args:
        overrides: Overrides in Hydra's syntax.

    Returns:
        An ``omegaconf.DictConfig``.

    Raises:
        InputError: Hydra refuses an override; names it.
    """
    require("rl", "hydra", "omegaconf")
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException

    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(verl_config_folder()), version_base=None):
            return hydra_compose(MAIN, overrides=list(overrides))
    except HydraException as error:
        raise InputError(_first_line(error), where="--set", fix=_FIX) from None


def validate(config: Any) -> None:
    """Run verl's own checks of a configuration. Imports verl.

    Raises:
        InputError: verl refuses it.
    """
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    try:
        validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
    except Exception as error:
        what = f"verl refuses this configuration: {_first_line(error) or type(error).__name__}"
        raise InputError(what, where="configuration", fix="Change the option that the message names.") from error


def check_filter(config: Any) -> None:
    """Refuse dynamic sampling by another metric than the reward, which is all that our sampler supports.

    Raises:
        InputError: The configuration names another metric.
    """
    wanted = config.algorithm.filter_groups
    if wanted.enable and wanted.metric != "reward":
        what = f"groups can be filtered by their rewards, not by {wanted.metric!r}"
        raise InputError(what, where="algorithm.filter_groups.metric", fix="Leave it at reward.")


def as_yaml(config: Any) -> str:
    """A configuration as YAML, with references resolved."""
    from omegaconf import OmegaConf

    return str(OmegaConf.to_yaml(config, resolve=True))


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else ""


_FIX = "Give KEY=VALUE for a key of verl's configuration, +KEY=VALUE for one it does not declare, ~KEY to remove one."
