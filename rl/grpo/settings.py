"""Settings of `simia train grpo`: the training and its launch."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from simia_gym.common.settings import Settings, setting

SIZES, RUN, WORLD = "Sizes", "Run", "World"
OF_THE_PROFILE = "the profile's"


class GrpoSettings(Settings):
    """Settings of a training besides its environments. Fields without a default get the profile's defaults."""

    policy: str | None = setting(
        None, "Folder or hub name of the policy to start from.", metavar="MODEL", unset="on CPU a tiny new one"
    )
    engine: Literal["hf", "vllm"] = setting("hf", "Rollout engine.", unset=OF_THE_PROFILE)
    steps: int = setting(..., "Number of training steps.", metavar="N", panel=SIZES, unset=OF_THE_PROFILE, ge=1)
    groups: int = setting(..., "Tasks in a step.", metavar="N", panel=SIZES, unset=OF_THE_PROFILE, ge=1)
    group_size: int = setting(
        ..., "Number of episodes of each task.", metavar="N", panel=SIZES, unset=OF_THE_PROFILE, ge=2
    )
    learning_rate: float = setting(
        1e-6,
        "Learning rate of AdamW, constant after warm-up.",
        option="lr",
        metavar="X",
        panel=SIZES,
        unset=OF_THE_PROFILE,
        gt=0,
        lt=1,
    )
    max_prompt_length: int = setting(
        ...,
        "Maximum tokens of a prompt; a longer one is refused.",
        metavar="N",
        panel=SIZES,
        unset=OF_THE_PROFILE,
        ge=1,
    )
    max_response_length: int = setting(
        ...,
        "Maximum tokens of an episode after its prompt, of the policy and the environment.",
        metavar="N",
        panel=SIZES,
        unset=OF_THE_PROFILE,
        ge=1,
    )
    turn_tokens: int | None = setting(
        None, "Maximum tokens of one turn of the policy.", metavar="N", panel=SIZES, unset=OF_THE_PROFILE, ge=1
    )
    temperature: int | float | None = setting(
        None, "Sampling temperature of the policy.", metavar="X", panel=RUN, unset=OF_THE_PROFILE, gt=0
    )
    dynamic_sampling: bool = setting(
        False,
        "Replace groups whose valid episodes all have the same reward and so no gradient.",
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
        ...,
        "Maximum validation tasks.",
        option="val-tasks",
        metavar="N",
        panel=SIZES,
        unset=OF_THE_PROFILE,
        ge=1,
    )
    save_every: int = setting(..., "Steps between two checkpoints.", metavar="N", panel=RUN, unset=OF_THE_PROFILE, ge=1)
    keep: int = setting(..., "Number of checkpoints to keep.", metavar="N", panel=RUN, unset=OF_THE_PROFILE, ge=1)
    seed: int = setting(0, "Random seed.", metavar="S", panel=RUN, ge=0)
    logger: tuple[Literal["tensorboard", "wandb"], ...] = setting(
        (), "Further loggers besides metrics.jsonl: tensorboard, wandb.", metavar="NAME", panel=RUN
    )
    overrides: tuple[str, ...] = setting(
        (), "Any key of verl's configuration.", option="set", metavar="KEY=VALUE", panel=RUN
    )


class LaunchSettings(Settings):
    """Settings of the launch; apart from the validation tasks they do not affect the result."""

    profile: str = setting("cpu", "Hardware profile: cpu, gpu_1x8, multi_node, or a YAML file.", metavar="NAME")
    validation_split: Literal["train", "test", "all"] = setting(
        "test", "Split of the fixed validation tasks.", option="val-split", panel=WORLD
    )
    validation_generated: int = setting(
        0, "Number of generated validation tasks.", option="val-generated", metavar="N", panel=WORLD, ge=0
    )
    timeout: int | float | None = setting(None, "Time limit of one episode in seconds.", metavar="S", panel=WORLD, gt=0)
    out: Path | None = setting(None, "Folder of the run.", metavar="DIR", panel=RUN, unset="runs/ENV-PROFILE")
    resume: bool = setting(False, "Resume from the last complete checkpoint.", panel=RUN)
    save_records: bool = setting(False, "Write the full record of each episode.", panel=RUN)
    dry_run: bool = setting(False, "Print configuration, memory, tokens and model calls; start nothing.")
    gpu_memory: float = setting(80.0, "Memory of a GPU in GiB, for --dry-run.", metavar="GIB", ge=1)
