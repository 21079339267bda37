"""Profiles of hardware: YAML files that become overrides of verl's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from simia_gym.errors import InputError
from simia_gym.rl.grpo.config.settings import GrpoSettings
from simia_gym.rl.verl_run.hydra import flat, quoted

FOLDER = Path(__file__).parent / "profiles"
_BASE = "base"
_KEYS = {"inherits", "about", "launch", "environment", "set", "add"}
_LAUNCH = {*GrpoSettings.fields(), "prompt"} - {"policy", "temperature", "seed", "logger", "overrides"}
"""Options of the command for which a profile may have defaults."""


@dataclass(frozen=True)
class Profile:
    """One profile, merged with the profiles it inherits from.

    Attributes:
        name: Its name.
        about: One line about it.
        launch: Defaults of the command's options.
        environment: Environment variables of the training's processes.
        set: Keys that verl's configuration declares; an unknown key is an error.
        add: Keys that verl passes on without declaring them.
    """

    name: str
    about: str
    launch: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    set: Mapping[str, Any] = field(default_factory=dict)
    add: Mapping[str, Any] = field(default_factory=dict)

    def overrides(self) -> list[str]:
        """Its keys as overrides in Hydra's syntax."""
        declared = [f"{key}={quoted(value)}" for key, value in flat(self.set)]
        return declared + [f"+{key}={quoted(value)}" for key, value in flat(self.add)]

    @property
    def on_cpu(self) -> bool:
        """Whether it trains on CPU."""
        return self.environment.get("VERL_PLATFORM") == "cpu"

    @property
    def own_ray(self) -> bool:
        """Whether the launch starts Ray itself, rather than connecting to a running cluster."""
        return "address" not in self.add.get("ray_kwargs", {}).get("ray_init", {})


def profile_names() -> list[str]:
    """Names of the profiles in this package."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem != _BASE)


def load_profile(name: str) -> Profile:
    """Read a profile of this package by its name, or a YAML file.

    Raises:
        InputError: There is none, or it cannot be read.
    """
    own = name.endswith((".yaml", ".yml"))
    if not own and name not in profile_names():
        fix = f"Known: {', '.join(profile_names())}; or give the path of a YAML file."
        raise InputError(f"there is no profile {name!r}", where="--profile", fix=fix)
    data = _read(Path(name) if own else FOLDER / f"{name}.yaml", ())
    return Profile(
        name=Path(name).stem,
        about=str(data.get("about", "")),
        launch=data.get("launch", {}),
        environment={key: str(value) for key, value in data.get("environment", {}).items()},
        set=data.get("set", {}),
        add=data.get("add", {}),
    )


def _read(path: Path, below: tuple[Path, ...]) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        fix = "Give a YAML file with the keys of those in rl/grpo/config/profiles."
        raise InputError(f"{path} cannot be read: {error}", where="--profile", fix=fix) from None
    unknown = sorted(set(data) - _KEYS) if isinstance(data, dict) else ["(no mapping)"]
    if unknown:
        raise InputError(f"{path}: unknown {', '.join(unknown)}", where="--profile", fix=f"Known: {sorted(_KEYS)}.")
    launch = data.get("launch", {})
    unknown = sorted(set(launch) - _LAUNCH) if isinstance(launch, dict) else ["(no mapping)"]
    if unknown:
        what = f"{path}: unknown {', '.join(map(str, unknown))} below launch"
        raise InputError(what, where="--profile", fix=f"Known: {', '.join(sorted(_LAUNCH))}.")
    parent = data.pop("inherits", None)
    if parent is None:
        return dict(data)
    above = FOLDER / f"{parent}.yaml"
    if above in below or not above.is_file():
        raise InputError(f"{path} inherits from {parent!r}", where="--profile", fix="Name a profile of the package.")
    return merged(_read(above, (*below, path)), data)


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two nested mappings; values of the second override those of the first."""
    out = dict(under)
    for key, value in over.items():
        known = out.get(key)
        out[key] = merged(known, value) if isinstance(known, Mapping) and isinstance(value, Mapping) else value
    return out
