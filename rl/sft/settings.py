"""Settings of a supervised training; they are saved in the run's folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from simia_gym.common.settings import Settings, setting
from simia_gym.errors import InputError
from simia_gym.policies.base import Thinking, thinking_setting

_OWN_OPTIONS = {
    "output_dir": "--out",
    "resume_from_checkpoint": "--resume",
    "num_train_epochs": "--epochs",
    "max_steps": "--steps",
    "learning_rate": "--lr",
    "per_device_train_batch_size": "--batch-size and --micro-batch",
    "gradient_accumulation_steps": "--batch-size and --micro-batch",
    "max_length": "--max-length",
    "bf16": "--precision",
    "fp16": "--precision",
    "seed": "--seed",
    "data_seed": "--seed",
}
"""Fields of TRL's ``SFTConfig`` that have options of their own, with these options."""


class SFTSettings(Settings):
    """Settings of a supervised training."""

    envs: tuple[str, ...]
    policy: str = setting("", "The model to start from.", option="")
    prompt: Literal["full", "compact"] = setting("full", "System message; it is recorded with the policy.")
    thinking: Thinking | None = thinking_setting()
    trajectories: int | None = setting(
        None,
        "Expert trajectories to learn from, of training tasks.",
        metavar="N",
        unset="2000; without a generator the fixed tasks that are not dev's",
    )
    expert: str = setting("expert", "Name of the environments' policy that plays.", metavar="P")
    data: tuple[str, ...] = setting(
        (), "Train on this file: a record of `simia rollout`, or JSONL or Parquet with `messages`.", metavar="FILE"
    )
    least: float = setting(1.0, "Minimum reward of a trajectory to learn from.", option="least-reward", metavar="R")
    fresh_ids: bool = setting(False, "Replace ids in every trajectory, so the policy learns to copy them.")
    fresh_words: bool = setting(False, "Permute words that the expert copies from the conversation.")
    first_turns: int | None = setting(
        None, "Learn only from the first N turns of each trajectory.", metavar="N", unset="all", ge=1
    )
    whole_every: int | None = setting(
        None, "With --first-turns: keep every Nth trajectory whole.", metavar="N", unset="none", ge=1
    )
    held_out: int | None = setting(
        None,
        "Held-out trajectories of dev tasks; with 0 a domain without a generator learns from these, too.",
        metavar="N",
        unset="64; at most those of dev, or of a tenth of the tasks with --data",
        ge=0,
    )
    epochs: float = setting(1.0, "Number of passes over the trajectories.", metavar="X", gt=0)
    steps: int | None = setting(None, "Number of optimizer steps.", metavar="N", unset="those of --epochs", ge=1)
    lr: float = setting(
        1e-3, "Peak learning rate: linear warm-up, then cosine decay to a twentieth.", metavar="X", gt=0
    )
    batch_size: int = setting(16, "Trajectories in a step.", metavar="N", ge=1)
    micro_batch: int | None = setting(
        None,
        "Trajectories in one forward pass; does not change the gradient.",
        metavar="N",
        unset="all of a step; on CPU at most 16, as many as keep 2 GiB",
        ge=1,
    )
    processes: int | None = setting(
        None,
        "Processes, each on a GPU of its own; more than one train with verl (FSDP) instead of TRL.",
        metavar="N",
        unset="one for each GPU, on CPU 1",
        ge=1,
    )
    max_length: int | None = setting(
        None,
        "Maximum tokens of a trajectory; longer ones are left out and counted.",
        metavar="N",
        unset="as many as the policy reads",
        ge=1,
    )
    precision: Literal["auto", "fp32", "bf16"] = setting(
        "auto", "Precision of computation; auto: bf16 if the hardware supports it. Weights stay in float32."
    )
    seed: int = setting(0, "Random seed of weights, order and the expert's wording.", metavar="S")
    extra: Mapping[str, Any] = setting(
        {},
        "Any field of trl.SFTConfig; with several processes, any key of verl's SFT trainer.",
        option="set",
        metavar="KEY=VALUE",
    )

    def __post_init__(self) -> None:
        """Refuse settings that contradict each other.

        Raises:
            InputError: Names the setting.
        """
        if self.trajectories is not None and bool(self.trajectories) == bool(self.data):
            fix = "Give --trajectories N to let experts play, or --data FILE."
            raise InputError("one source of trajectories is needed", where="trajectories", fix=fix)
        if self.data and self.expert != "expert":
            fix = "Leave out --expert or --data."
            raise InputError("nobody plays when --data is given", where="expert", fix=fix)
        if not self.envs and not self.data:
            raise InputError("no environment is named", where="env", fix="Such as simia/webshop-v0.")
        if self.whole_every and not self.first_turns:
            fix = "Give --first-turns, too, or leave out --whole-every."
            raise InputError("all trajectories are whole", where="whole_every", fix=fix)
        if self.micro_batch is not None and self.batch_size % self.micro_batch:
            what = f"batches of {self.batch_size} cannot be computed in parts of {self.micro_batch}"
            raise InputError(what, where="micro_batch", fix="Use a divisor.")
        for name, option in _OWN_OPTIONS.items():
            if name in self.extra:
                raise InputError(f"{name} has an option of its own", where="--set", fix=f"Use {option}.")
