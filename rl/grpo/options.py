"""What `simia train grpo` was asked for, and what a run is once the profile has filled in the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, cast

from simia_gym.assembly.settings import EnvConfig
from simia_gym.cli.options.models import ModelOptions
from simia_gym.domain.naming import parse_options, resolve_env, slug
from simia_gym.errors import InputError
from simia_gym.rl.grpo.profile import Profile
from simia_gym.rl.labels import labels
from simia_gym.rl.small.card import read_card

ENGINES = {"hf": "hf_server", "vllm": "vllm"}
"""Rollout engines as they are typed, and verl's names for them; on processors vLLM is ``vllm_cpu``."""
LOGGERS = ("tensorboard", "wandb")
Prompt = Literal["full", "compact"]


@dataclass(frozen=True, kw_only=True)
class GrpoOptions:
    """The options as they were typed; ``None`` leaves a thing to the profile."""

    env: tuple[str, ...]
    profile: str = "cpu"
    policy: str | None = None
    engine: str | None = None
    steps: int | None = None
    groups: int | None = None
    group_size: int | None = None
    learning_rate: float | None = None
    max_prompt_length: int | None = None
    max_response_length: int | None = None
    turn_tokens: int | None = None
    temperature: float | None = None
    dynamic_sampling: bool | None = None
    prompt: str | None = None
    split: str = "train"
    generated: int = 0
    validation_every: int | None = None
    validation_tasks: int | None = None
    validation_split: str = "test"
    validation_generated: int = 0
    save_every: int | None = None
    keep: int | None = None
    simulator: str = "auto"
    user: str | None = None
    max_turns: int | None = None
    domain: str | None = None
    data: str | None = None
    option: tuple[str, ...] = ()
    models: ModelOptions = field(default_factory=ModelOptions)
    episode_timeout: float | None = None
    records: bool = False
    seed: int = 0
    out: Path | None = None
    resume: bool = False
    logger: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    gpu_memory: float = 80.0
    dry_run: bool = False
    json: bool = False


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """One training, every number known.

    Attributes:
        profile: What it runs on.
        environments: Training environments and how often each is drawn, relative to the others.
        validation: The same environments with the tasks that are only looked at.
        policy: Folder or name of the policy that it starts from; ``None`` for one that is made for it.
        engine: Rollout engine: ``hf`` or ``vllm``.
        steps: Updates of the policy.
        groups: Tasks of one step.
        group_size: Episodes of one task.
        learning_rate: Of AdamW, constant after the first steps.
        max_prompt_length: Tokens of the longest first message; a longer one is refused.
        max_response_length: Tokens of an episode after it, the environment's included.
        turn_tokens: Most tokens that the policy may say in one turn.
        temperature: At which the policy is sampled; ``None`` leaves it to the profile.
        dynamic_sampling: Whether groups whose valid episodes all have the same reward are replaced by others.
        prompt: How much the system message says.
        validation_every: Steps between two looks at the validation tasks; 0 for none.
        validation_tasks: How many of them.
        save_every: Steps between two checkpoints.
        keep: Checkpoints that are kept.
        seed: Where all variety comes from.
        logger: Further places for verl's metrics.
        overrides: Words for verl's configuration, as typed.
    """

    profile: Profile
    environments: tuple[tuple[EnvConfig, float], ...]
    validation: tuple[tuple[EnvConfig, float], ...]
    policy: str | None
    engine: str
    steps: int
    groups: int
    group_size: int
    learning_rate: float
    max_prompt_length: int
    max_response_length: int
    turn_tokens: int | None
    temperature: float | None
    dynamic_sampling: bool
    prompt: Prompt
    validation_every: int
    validation_tasks: int
    save_every: int
    keep: int
    seed: int
    logger: tuple[str, ...]
    overrides: tuple[str, ...]

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

    def to_json(self) -> dict[str, Any]:
        """What decides the run, as it stands in the run's folder; no address and no key is in it."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        for name in ("environments", "validation"):
            plain[name] = [{"config": config.to_json(), "weight": weight} for config, weight in plain[name]]
        return {**plain, "profile": self.profile.name, "logger": list(self.logger), "overrides": list(self.overrides)}


MAY_CHANGE = frozenset({"steps", "save_every", "keep", "logger", "validation_every"})
"""What a resumed run may have otherwise than before."""


def make_plan(asked: GrpoOptions, profile: Profile) -> RunPlan:
    """Fill in what was not typed.

    Args:
        asked: The options.
        profile: What to train on.

    Raises:
        InputError: An option is impossible; it is named.
    """
    given: Mapping[str, Any] = profile.launch

    def number(name: str, option: str, least: int = 1) -> int:
        typed = getattr(asked, name)
        value = given.get(name) if typed is None else typed
        if not isinstance(value, int) or value < least:
            raise InputError(f"{name} is {value!r}", where=option, fix=f"Give a whole number of at least {least}.")
        return value

    engine = asked.engine or str(given.get("engine", "hf"))
    if engine not in ENGINES:
        raise InputError(f"there is no engine {engine!r}", where="--engine", fix=f"Use {' or '.join(ENGINES)}.")
    for name in asked.logger:
        if name not in LOGGERS:
            raise InputError(f"there is no logger {name!r}", where="--logger", fix=f"Use {' or '.join(LOGGERS)}.")
    rate = asked.learning_rate if asked.learning_rate is not None else float(given.get("learning_rate", 1e-6))
    if not 0 < rate < 1:
        raise InputError(f"the learning rate is {rate}", where="--lr", fix="Give a number between 0 and 1.")
    if asked.temperature is not None and not 0 < asked.temperature < math.inf:
        raise InputError(f"the temperature is {asked.temperature}", where="--temperature", fix="Give a number above 0.")
    turn_tokens = given.get("turn_tokens") if asked.turn_tokens is None else asked.turn_tokens
    prompt = asked.prompt or _prompt_of(asked.policy) or str(given.get("prompt", "full"))
    group_size = number("group_size", "--group-size", 2)
    tasks = number("validation_tasks", "--val-tasks")
    environments = tuple(_environment(asked, word, prompt) for word in asked.env)
    _no_repeats(environments)
    return RunPlan(
        profile=profile,
        environments=environments,
        validation=tuple((_for_validation(config, asked), weight) for config, weight in environments),
        policy=asked.policy,
        engine=engine,
        steps=number("steps", "--steps"),
        groups=number("groups", "--groups"),
        group_size=group_size,
        learning_rate=rate,
        max_prompt_length=number("max_prompt_length", "--max-prompt-length"),
        max_response_length=number("max_response_length", "--max-response-length"),
        turn_tokens=None if turn_tokens is None else number("turn_tokens", "--turn-tokens"),
        temperature=asked.temperature,
        dynamic_sampling=_dynamic(asked, given),
        prompt=cast(Prompt, prompt),
        validation_every=number("validation_every", "--val-every", 0),
        validation_tasks=tasks,
        save_every=number("save_every", "--save-every"),
        keep=number("keep", "--keep"),
        seed=asked.seed,
        logger=asked.logger,
        overrides=asked.overrides,
    )


_FILTER = "algorithm.filter_groups.enable="


def _dynamic(asked: GrpoOptions, given: Mapping[str, Any]) -> bool:
    """Whether groups are replaced: by the option, verl's own key, or the profile."""
    typed = [word.lstrip("+").removeprefix(_FILTER) for word in asked.overrides if word.lstrip("+").startswith(_FILTER)]
    value = given.get("dynamic_sampling", False) if asked.dynamic_sampling is None else asked.dynamic_sampling
    if typed:
        value = {"true": True, "false": False}.get(typed[-1].lower())
    if not isinstance(value, bool):
        where = f"--set {_FILTER[:-1]}" if typed else "--profile"
        raise InputError(f"dynamic sampling is {typed or [value]}", where=where, fix="Write true or false.")
    return value


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
    env, domain = resolve_env(name if equals else word, asked.domain)
    config = EnvConfig(
        env=env,
        split=cast(Literal["train", "test", "all"], asked.split),
        generated=asked.generated,
        data=asked.data,
        domain=domain,
        simulator=asked.simulator,
        user=asked.user,
        prompt=cast(Prompt, prompt),
        options=parse_options(asked.option),
        max_turns=asked.max_turns,
        **asked.models.settings(),
    )
    return config, weight


def _for_validation(config: EnvConfig, asked: GrpoOptions) -> EnvConfig:
    split = cast(Literal["train", "test", "all"], asked.validation_split)
    return replace(config, split=split, generated=asked.validation_generated)


def _no_repeats(environments: tuple[tuple[EnvConfig, float], ...]) -> None:
    names = [(config.env, config.domain and str(Path(config.domain).resolve())) for config, _ in environments]
    for name in names:
        if names.count(name) > 1:
            fix = "Name it once, with the sum as its weight."
            raise InputError(f"{name[0]} is named twice", where="--env", fix=fix)
