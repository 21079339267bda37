"""Settings of `simia train grpo`: the training and its launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from simia_gym.common.settings import Settings, setting
from simia_gym.policies.base import Thinking, thinking_setting
from simia_gym.types import SplitChoice

SIZES, RUN, WORLD = "Sizes", "Run", "World"
OF_THE_PROFILE = "the profile's"


def _of_profile(
    description: str, default: Any = ..., *, metavar: str | None = "N", panel: str = SIZES, **more: Any
) -> Any:
    """Declare a field whose default is the profile's."""
    return setting(default, description, panel=panel, unset=OF_THE_PROFILE, metavar=metavar, **more)


class GrpoSettings(Settings):
    """Settings of a training besides its environments. Fields without a default get the profile's defaults."""

    policy: str | None = setting(
        None, "Folder or hub name of the policy to start from.", metavar="MODEL", unset="on CPU a tiny new one"
    )
    engine: Literal["hf", "vllm"] = setting("hf", "Rollout engine.", unset=OF_THE_PROFILE)
    steps: int = _of_profile("Number of training steps.", ge=1)
    groups: int = _of_profile("Tasks in a step.", ge=1)
    group_size: int = _of_profile("Number of episodes of each task.", ge=2)
    learning_rate: float = _of_profile(
        "Learning rate of AdamW, constant after warm-up.", 1e-6, option="lr", metavar="X", gt=0, lt=1
    )
    max_prompt_length: int = _of_profile("Maximum tokens of a prompt; a longer one is refused.", ge=1)
    max_response_length: int = setting(
        ...,
        "Maximum tokens of an episode after its prompt, of the policy and the environment.",
        metavar="N",
        panel=SIZES,
        unset="the profile's, or more if the expert's episodes need more",
        ge=1,
    )
    turn_tokens: int | None = _of_profile("Maximum tokens of one turn of the policy.", None, ge=1)
    thinking: Thinking | None = thinking_setting(unset="as the policy was trained, else the profile's", panel=RUN)
    temperature: int | float | None = _of_profile(
        "Sampling temperature of the policy.", None, metavar="X", panel=RUN, gt=0
    )
    dynamic_sampling: bool = _of_profile(
        "Replace groups whose valid episodes all have the same reward and so no gradient.",
        False,
        metavar=None,
        panel=RUN,
    )
    validation_every: int = _of_profile("Steps between two validations; 0 for none.", option="val-every", ge=0)
    validation_tasks: int = _of_profile("Maximum validation tasks.", option="val-tasks", ge=1)
    save_every: int = _of_profile("Steps between two checkpoints.", panel=RUN, ge=1)
    keep: int = _of_profile("Number of checkpoints to keep.", panel=RUN, ge=1)
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
    validation_split: SplitChoice = setting(
        "dev",
        "Split of the validation tasks; with dev, none of its tasks is trained on.",
        option="val-split",
        panel=WORLD,
    )
    validation_generated: int = setting(
        0,
        "Number of generated validation tasks, added to those of the split.",
        option="val-generated",
        metavar="N",
        panel=WORLD,
        ge=0,
    )
    timeout: int | float | None = setting(None, "Time limit of one episode in seconds.", metavar="S", panel=WORLD, gt=0)
    out: Path | None = setting(None, "Folder of the run.", metavar="DIR", panel=RUN, unset="runs/ENV-PROFILE")
    resume: bool = setting(False, "Resume from the last complete checkpoint.", panel=RUN)
    save_records: bool = setting(False, "Write the full record of each episode.", panel=RUN)
    dry_run: bool = setting(False, "Print configuration, tokens and model calls; start nothing.")
