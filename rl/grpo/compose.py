"""verl's own configuration with a profile and a run's settings in it, composed the way verl composes it."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.extras import require

MAIN = "ppo_trainer"


def verl_config_folder() -> Path:
    """Where verl keeps its configuration; found without importing verl, which takes seconds."""
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
    """Compose the configuration as `verl.trainer.main_ppo` does with the same words.

    Args:
        overrides: In Hydra's grammar.

    Returns:
        An ``omegaconf.DictConfig``.

    Raises:
        InputError: Hydra refuses a word; it is named.
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
    """Hold a configuration against verl's own checks. Imports verl.

    Raises:
        InputError: verl refuses it.
    """
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    try:
        validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
    except Exception as error:
        what = f"verl refuses this configuration: {_first_line(error) or type(error).__name__}"
        raise InputError(what, where="configuration", fix="Change the option or --set that it speaks of.") from error


def check_filter(config: Any) -> None:
    """Refuse to replace groups by anything but their rewards, which is what our sampler goes by.

    Raises:
        InputError: The configuration names another metric.
    """
    wanted = config.algorithm.filter_groups
    if wanted.enable and wanted.metric != "reward":
        what = f"groups can be told apart by their rewards, not by {wanted.metric!r}"
        raise InputError(what, where="algorithm.filter_groups.metric", fix="Leave it at reward.")


def as_yaml(config: Any) -> str:
    """A configuration as text, what it refers to put in."""
    from omegaconf import OmegaConf

    return str(OmegaConf.to_yaml(config, resolve=True))


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else ""


_FIX = "Give KEY=VALUE for a key of verl's configuration, +KEY=VALUE for one it does not declare, ~KEY to remove one."
