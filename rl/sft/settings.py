"""What a supervised training is told, written down beside what it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import orjson

from simia_gym.common.settings import Settings, setting
from simia_gym.errors import InputError

SETTINGS = "settings.json"
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
"""Fields of TRL's ``SFTConfig`` that other settings here decide, by the options that set those."""


class SFTSettings(Settings):
    """What a supervised training learns from, and how."""

    envs: tuple[str, ...]
    policy: str = setting("", "The model to begin with.", option="")
    prompt: Literal["full", "compact"] = setting("full", "System message; it is recorded with the policy.")
    trajectories: int | None = setting(
        None,
        "Expert trajectories to learn from, of training tasks.",
        metavar="N",
        unset="2000, or all of the fixed tasks where none are generated",
    )
    expert: str = setting("expert", "Which of the environments' own policies plays.", metavar="P")
    data: tuple[str, ...] = setting(
        (), "Record of `simia rollout`, or JSONL or Parquet with `messages`, to learn from.", metavar="FILE"
    )
    least: float = setting(1.0, "The least reward that is worth learning from.", option="least-reward", metavar="R")
    fresh_ids: bool = setting(False, "Other ids in every trajectory: the policy learns to copy, not to remember.")
    fresh_words: bool = setting(False, "Other words, too, where an expert says what it has read before.")
    first_turns: int | None = setting(
        None, "Learn only from so many turns at the beginning of each trajectory.", metavar="N", unset="from all", ge=1
    )
    whole_every: int | None = setting(
        None, "With --first-turns: one of so many is kept whole.", metavar="N", unset="none", ge=1
    )
    held_out: int | None = setting(
        None,
        "Trajectories of further tasks to validate on.",
        metavar="N",
        unset="64; of --data, or of fixed tasks alone, those of a tenth of the tasks at most",
        ge=0,
    )
    epochs: float = setting(1.0, "How often to go through the trajectories.", metavar="X", gt=0)
    steps: int | None = setting(None, "Steps of the optimizer.", metavar="N", unset="those of --epochs", ge=1)
    lr: float = setting(
        1e-3, "Highest learning rate; it rises linearly and falls along a cosine to a twentieth.", metavar="X", gt=0
    )
    batch_size: int = setting(16, "Trajectories a step.", metavar="N", ge=1)
    micro_batch: int | None = setting(
        None,
        "Trajectories that are computed at once; the gradient is the same.",
        metavar="N",
        unset="all of a step, on a processor about 16",
        ge=1,
    )
    max_length: int = setting(
        2048, "Most tokens of a trajectory; longer ones are left out and counted.", metavar="N", ge=1
    )
    precision: Literal["auto", "fp32", "bf16"] = setting(
        "auto", "Of the computation: auto is bf16 where the machine computes in it; weights stay in float32."
    )
    seed: int = setting(0, "Random seed of weights, order and wording.", metavar="S")
    extra: Mapping[str, Any] = setting({}, "Any field of trl.SFTConfig.", option="set", metavar="KEY=VALUE")

    def __post_init__(self) -> None:
        """Refuse settings that contradict each other.

        Raises:
            InputError: Names the setting.
        """
        if self.trajectories is not None and bool(self.trajectories) == bool(self.data):
            fix = "Give --trajectories N for expert play, or --data FILE."
            raise InputError("one source of trajectories is needed", where="trajectories", fix=fix)
        if self.data and self.expert != "expert":
            fix = "Leave out --expert or --data."
            raise InputError("nobody plays where files are learned from", where="expert", fix=fix)
        if not self.envs and not self.data:
            raise InputError("no environment is named", where="env", fix="Such as simia/webshop-v0.")
        if self.whole_every and not self.first_turns:
            fix = "Give --first-turns, too, or leave it out."
            raise InputError("all trajectories are whole", where="whole_every", fix=fix)
        if self.micro_batch is not None and self.batch_size % self.micro_batch:
            what = f"batches of {self.batch_size} cannot be computed in parts of {self.micro_batch}"
            raise InputError(what, where="micro_batch", fix="Use a divisor.")
        for name, option in _OWN_OPTIONS.items():
            if name in self.extra:
                raise InputError(f"{name} has an option of its own", where="--set", fix=f"Use {option}.")

    def write(self, folder: Path) -> None:
        """Write them into a run's folder."""
        (folder / SETTINGS).write_bytes(self._bytes())

    def check_same(self, folder: Path) -> None:
        """Make sure that a run that goes on is told the same as before.

        Raises:
            InputError: Nothing was begun there, or with other settings; names them.
        """
        path = folder / SETTINGS
        if not path.is_file():
            raise InputError("there is nothing to resume", where=str(folder), fix="Leave --resume out.")
        before, now = orjson.loads(path.read_bytes()), orjson.loads(self._bytes())
        other = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if other:
            shown = ", ".join(f"{name}={before.get(name)!r}" for name in other)
            raise InputError(f"it was begun with {shown}", where=str(path), fix="Give the same settings.")

    def _bytes(self) -> bytes:
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
