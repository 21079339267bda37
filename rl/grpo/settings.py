"""Settings of `simia train grpo`: what a training is, and how it is launched."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from simia_gym.common.settings import Settings, setting

SIZES, RUN, WORLD = "Sizes", "Run", "World"
OF_THE_PROFILE = "the profile's"


class GrpoSettings(Settings):
    """What decides a training besides its environments. Fields without a default have those of the profile."""

    policy: str | None = setting(
        None, "Folder or hub name of the policy to start from.", metavar="MODEL", unset="on cpu a tiny new one"
    )
    engine: Literal["hf", "vllm"] = setting("hf", "What generates.", unset=OF_THE_PROFILE)
    steps: int = setting(..., "Updates of the policy.", metavar="N", panel=SIZES, unset=OF_THE_PROFILE, ge=1)
    groups: int = setting(..., "Tasks of one step.", metavar="N", panel=SIZES, unset=OF_THE_PROFILE, ge=1)
    group_size: int = setting(..., "Episodes of one task.", metavar="N", panel=SIZES, unset=OF_THE_PROFILE, ge=2)
    learning_rate: float = setting(
        1e-6,
        "Learning rate of AdamW, constant after the first steps.",
        option="lr",
        metavar="X",
        panel=SIZES,
        unset=OF_THE_PROFILE,
        gt=0,
        lt=1,
    )
    max_prompt_length: int = setting(
        ...,
        "Tokens of the longest prompt; a longer one is refused.",
        metavar="N",
        panel=SIZES,
        unset=OF_THE_PROFILE,
        ge=1,
    )
    max_response_length: int = setting(
        ...,
        "Tokens of an episode after its prompt, the environment's included.",
        metavar="N",
        panel=SIZES,
        unset=OF_THE_PROFILE,
        ge=1,
    )
    turn_tokens: int | None = setting(
        None, "Tokens of one turn of the policy.", metavar="N", panel=SIZES, unset=OF_THE_PROFILE, ge=1
    )
    temperature: int | float | None = setting(
        None, "Sampling temperature of the policy.", metavar="X", panel=RUN, unset=OF_THE_PROFILE, gt=0
    )
    dynamic_sampling: bool = setting(
        False,
        "Replace groups whose valid episodes all have the same reward: they teach nothing.",
        panel=RUN,
        unset=OF_THE_PROFILE,
    )
    validation_every: int = setting(
        ...,
        "Steps between two validations; 0 for none.",
        option="val-every",
        metavar="N",
        panel=SIZES,
        unset=OF_THE_PROFILE,
        ge=0,
    )
    validation_tasks: int = setting(
        ..., "Most tasks of a validation.", option="val-tasks", metavar="N", panel=SIZES, unset=OF_THE_PROFILE, ge=1
    )
    save_every: int = setting(..., "Steps between two checkpoints.", metavar="N", panel=RUN, unset=OF_THE_PROFILE, ge=1)
    keep: int = setting(..., "Checkpoints that are kept.", metavar="N", panel=RUN, unset=OF_THE_PROFILE, ge=1)
    seed: int = setting(0, "Random seed.", metavar="S", panel=RUN, ge=0)
    logger: tuple[Literal["tensorboard", "wandb"], ...] = setting(
        (), "Where metrics go besides metrics.jsonl: tensorboard, wandb.", metavar="NAME", panel=RUN
    )
    overrides: tuple[str, ...] = setting(
        (), "Any key of verl's configuration.", option="set", metavar="KEY=VALUE", panel=RUN
    )


class LaunchSettings(Settings):
    """How a training is launched; nothing of it decides what is learned but the tasks of the validation."""

    profile: str = setting("cpu", "What to train on: cpu, gpu_1x8, multi_node, or a YAML file.", metavar="NAME")
    validation_split: Literal["train", "test", "all"] = setting(
        "test", "Fixed tasks of the validation.", option="val-split", panel=WORLD
    )
    validation_generated: int = setting(
        0, "Generated tasks besides them.", option="val-generated", metavar="N", panel=WORLD, ge=0
    )
    timeout: int | float | None = setting(None, "Seconds that one episode may take.", metavar="S", panel=WORLD, gt=0)
    out: Path | None = setting(None, "Folder of the run.", metavar="DIR", panel=RUN, unset="runs/ENV-PROFILE")
    resume: bool = setting(False, "Go on after the last whole checkpoint.", panel=RUN)
    save_records: bool = setting(False, "Keep the whole record of every episode.", panel=RUN)
    dry_run: bool = setting(False, "Print configuration, memory, tokens and calls; start nothing.")
    gpu_memory: float = setting(80.0, "Memory of a graphics card, for --dry-run.", metavar="GIB", ge=1)
