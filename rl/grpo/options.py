"""What `simia train grpo` was asked for, and what a run is once the profile has filled in the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.common.settings import setting
from simia_gym.domain.naming import resolve_env, slug
from simia_gym.errors import InputError
from simia_gym.rl.grpo.profile import Profile
from simia_gym.rl.grpo.settings import GrpoSettings, LaunchSettings
from simia_gym.rl.labels import labels
from simia_gym.rl.small.card import read_card
from simia_gym.types import JsonObject

ENGINES = {"hf": "hf_server", "vllm": "vllm"}
"""Rollout engines as they are typed, and verl's names for them; on processors vLLM is ``vllm_cpu``."""


@dataclass(frozen=True, kw_only=True)
class GrpoOptions:
    """What `simia train grpo` was asked for.

    Attributes:
        env: Environments as typed: ``ENV`` or ``ENV=WEIGHT``.
        training: Fields of `GrpoSettings`; those that are left out are the profile's.
        world: Fields of `EnvConfig` that all environments share.
        models: The models of the environments.
        launch: How it is launched.
        json: Whether a script listens.
    """

    env: tuple[str, ...]
    training: Mapping[str, Any] = field(default_factory=dict)
    world: Mapping[str, Any] = field(default_factory=dict)
    models: ModelSources = field(default_factory=ModelSources)
    launch: LaunchSettings = field(default_factory=LaunchSettings)
    json: bool = False


class RunPlan(GrpoSettings):
    """One training, every number known."""

    profile: Profile = setting(..., "What it runs on.")
    environments: tuple[tuple[EnvConfig, float], ...] = setting(
        ..., "Training environments, and how often each is drawn, relative to the others."
    )
    validation: tuple[tuple[EnvConfig, float], ...] = setting(..., "The same environments with the validation tasks.")
    prompt: Literal["full", "compact"] = setting("full", "How much the system message says.")

    @property
    def engine_name(self) -> str:
        """Verl's name of the rollout engine."""
        return "vllm_cpu" if self.engine == "vllm" and self.profile.on_cpu else ENGINES[self.engine]

    @property
    def episodes(self) -> int:
        """Training episodes of the whole run."""
        return self.steps * self.groups * self.group_size

    @property
    def validation_episodes(self) -> int:
        """Validation episodes of the whole run, the first look before step 1 included."""
        if not self.validation_every:
            return 0
        looks = 1 + math.ceil(self.steps / self.validation_every)
        return looks * self.validation_tasks

    @property
    def name(self) -> str:
        """Short name of the environments and the profile, for folders."""
        names = labels([config for config, _ in self.environments])
        envs = "-".join(slug(name.removeprefix("simia/")) for name in names)
        return f"{envs}-{self.profile.name}"

    def to_json(self) -> JsonObject:
        """What decides the run, as it stands in the run's folder; no address and no key is in it."""
        plain = {name: getattr(self, name) for name in self.fields()}
        for name in ("environments", "validation"):
            plain[name] = [{"config": config.to_json(), "weight": weight} for config, weight in plain[name]]
        return {**plain, "profile": self.profile.name, "logger": list(self.logger), "overrides": list(self.overrides)}


MAY_CHANGE = frozenset({"steps", "save_every", "keep", "logger", "validation_every"})
"""What a resumed run may have otherwise than before."""


def make_plan(asked: GrpoOptions, profile: Profile) -> RunPlan:
    """Fill in from the profile what was not typed.

    Args:
        asked: The options.
        profile: What to train on.

    Raises:
        InputError: An option is impossible; names it.
    """
    typed = dict(asked.training)
    trained = _prompt_of(typed.get("policy"))
    prompts = (asked.world.get("prompt"), trained, profile.launch.get("prompt"))
    prompt = next((name for name in prompts if name is not None), "full")
    environments = tuple(_environment(asked, word, prompt) for word in asked.env)
    _no_repeats(environments)
    launch = asked.launch
    given = {**profile.launch, **typed, "prompt": prompt}
    given["dynamic_sampling"] = _dynamic(typed.get("overrides", ()), given.get("dynamic_sampling", False))
    return RunPlan(
        **given,
        profile=profile,
        environments=environments,
        validation=tuple(
            (replace(config, split=launch.validation_split, generated=launch.validation_generated), weight)
            for config, weight in environments
        ),
    )


_FILTER = "algorithm.filter_groups.enable="


def _dynamic(overrides: Sequence[str], value: bool) -> bool:
    """Whether groups are replaced: verl's own key goes before the option."""
    typed = [word.lstrip("+").removeprefix(_FILTER) for word in overrides if word.lstrip("+").startswith(_FILTER)]
    if not typed:
        return value
    found = {"true": True, "false": False}.get(typed[-1].lower())
    if found is None:
        raise InputError(f"dynamic sampling is {typed}", where=f"--set {_FILTER[:-1]}", fix="Write true or false.")
    return found


def _prompt_of(policy: str | None) -> str | None:
    """The system message that a policy was trained with, where its folder says so."""
    card = read_card(policy) if policy is not None else None
    return None if card is None else card.prompt


def _environment(asked: GrpoOptions, word: str, prompt: str) -> tuple[EnvConfig, float]:
    """Read ``ENV`` or ``ENV=WEIGHT``."""
    name, equals, text = word.rpartition("=")
    weight = 1.0
    if equals:
        try:
            weight = float(text)
        except ValueError:
            weight = math.nan
        if not 0 < weight < math.inf:
            fix = "Write for example --env simia/retail-v0=2."
            raise InputError(f"the weight of {name} is {text!r}", where="--env", fix=fix)
    shared = dict(asked.world)
    env, domain = resolve_env(name if equals else word, shared.pop("domain", None))
    return EnvConfig(
        **{**shared, "env": env, "domain": domain, "prompt": prompt, "roles": asked.models.roles()}
    ), weight


def _no_repeats(environments: tuple[tuple[EnvConfig, float], ...]) -> None:
    names = [(config.env, config.domain and str(Path(config.domain).resolve())) for config, _ in environments]
    for name in names:
        if names.count(name) > 1:
            fix = "Name it once, with the sum as its weight."
            raise InputError(f"{name[0]} is named twice", where="--env", fix=fix)
