"""Options of `simia train grpo`, and the complete settings of a run after the profile's defaults are applied."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.sources import ModelSources
from simia_gym.common.formatting import slug
from simia_gym.common.settings import setting
from simia_gym.domain.registration import resolve_env
from simia_gym.errors import InputError
from simia_gym.policies.base import THINKING_OFF, Thinking
from simia_gym.rl.chat.thinking import DEFAULT, choose_thinking
from simia_gym.rl.grpo.config.profile import Profile
from simia_gym.rl.grpo.config.settings import GrpoSettings, LaunchSettings
from simia_gym.rl.labels import labels
from simia_gym.rl.small.card import Card, read_card
from simia_gym.types import JsonObject

ENGINES = {"hf": "hf_server", "vllm": "vllm"}
"""Values of ``--engine`` and verl's names for them; on CPU vLLM is ``vllm_cpu``."""


@dataclass(frozen=True, kw_only=True)
class GrpoOptions:
    """Options of `simia train grpo`.

    Attributes:
        env: Environments as typed: ``ENV`` or ``ENV=WEIGHT``.
        training: Fields of `GrpoSettings`; missing ones get the profile's defaults.
        world: Fields of `EnvConfig` that all environments share.
        models: The models of the environments.
        launch: Settings of the launch.
        json: Whether to write the result as JSON.
    """

    env: tuple[str, ...]
    training: Mapping[str, Any] = field(default_factory=dict)
    world: Mapping[str, Any] = field(default_factory=dict)
    models: ModelSources = field(default_factory=ModelSources)
    launch: LaunchSettings = field(default_factory=LaunchSettings)
    json: bool = False


class RunPlan(GrpoSettings):
    """The complete settings of one training."""

    profile: Profile = setting(..., "Hardware profile.")
    environments: tuple[tuple[EnvConfig, float], ...] = setting(
        ..., "Training environments and their relative weights."
    )
    validation: tuple[tuple[EnvConfig, float], ...] = setting(..., "The same environments with the validation tasks.")
    prompt: Literal["full", "compact"] = setting("full", "Kind of the system message.")
    thinking: Thinking = setting(DEFAULT, "Whether the policy thinks.")

    @property
    def engine_name(self) -> str:
        """The name of the rollout engine in verl."""
        return "vllm_cpu" if self.engine == "vllm" and self.profile.on_cpu else ENGINES[self.engine]

    @property
    def episodes(self) -> int:
        """Training episodes of the whole run."""
        return self.steps * self.groups * self.group_size

    @property
    def validation_episodes(self) -> int:
        """Validation episodes of the whole run, including the validation before step 1."""
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
        """Encode the settings for the run's folder; contains no address and no API key."""
        plain = {name: getattr(self, name) for name in self.fields()}
        for name in ("environments", "validation"):
            plain[name] = [{"config": config.to_json(), "weight": weight} for config, weight in plain[name]]
        return {**plain, "profile": self.profile.name}


MAY_CHANGE = frozenset({"steps", "save_every", "keep", "logger", "validation_every"})
"""Settings that may differ when a run is resumed."""
_OWN_OPTIONS = {**dict.fromkeys(THINKING_OFF, "thinking"), "algorithm.filter_groups.enable": "dynamic sampling"}
"""Keys of verl's configuration that ``--set`` cannot set, and the names of their options."""


def make_plan(asked: GrpoOptions, profile: Profile) -> RunPlan:
    """Apply the profile's defaults to the options.

    Raises:
        InputError: An option is impossible; names it.
    """
    typed = dict(asked.training)
    policy = typed.get("policy")
    card = (read_card(policy) if policy is not None else None) or Card()
    prompts = (asked.world.get("prompt"), card.prompt, profile.launch.get("prompt"))
    prompt = next((name for name in prompts if name is not None), "full")
    environments = tuple(_environment(asked, word, prompt) for word in asked.env)
    _no_repeats(environments)
    launch = asked.launch
    looked_at, more = launch.validation_split, launch.validation_generated
    given = {**profile.launch, **typed, "prompt": prompt}
    for word in typed.get("overrides", ()):
        for key, name in _OWN_OPTIONS.items():
            if key in word:
                fix = f"Use --{name.replace(' ', '-')}."
                raise InputError(f"{name} has an option of its own", where=f"--set {word}", fix=fix)
    default = profile.launch.get("thinking")
    given["thinking"] = choose_thinking(typed.get("thinking"), card.thinking, default, policy=policy)
    return RunPlan(
        **given,
        profile=profile,
        environments=tuple((_trained_on(config, launch), weight) for config, weight in environments),
        validation=tuple(
            (replace(config, split=looked_at, generated=more, without_dev=False), weight)
            for config, weight in environments
        ),
    )


def _trained_on(config: EnvConfig, launch: LaunchSettings) -> EnvConfig:
    """The training tasks: without those of dev if validation may use these, in this start or a resumed one."""
    apart = launch.validation_split == "dev" and config.split in ("train", "all")
    return replace(config, without_dev=config.without_dev or apart)


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
