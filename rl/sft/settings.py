"""What a supervised training is told, written down beside what it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

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


@dataclass(frozen=True)
class SFTSettings:
    """Settings of a supervised training.

    Attributes:
        envs: The environments.
        policy: The model to begin with.
        prompt: ``full`` or ``compact`` system message.
        trajectories: How many expert trajectories to learn from; ``None`` for 2,000, or all that there are of fixed
            tasks alone. Nothing with ``data``.
        expert: Which of the environments' own policies plays them.
        data: Files to learn from instead.
        least: The least reward that is worth learning from.
        fresh_ids: Give every trajectory that is learned from ids of its own, so that the policy learns to copy them.
        fresh_words: Exchange in every one the words that are said only after they were read; see `fresh_words`.
        first_turns: Learn only from so many turns at the beginning of every one; ``None`` for all.
        whole_every: One of so many is kept whole all the same; ``None`` for none.
        held_out: Trajectories of further tasks that are only looked at; ``None`` for 64, and of a data set or of fixed
            tasks alone those of a tenth of the tasks at most.
        epochs: How often to go through them; with ``steps`` as far as those lead.
        steps: Steps of the optimizer; ``None`` follows ``epochs``.
        lr: Highest learning rate; it rises linearly at the beginning and falls along a cosine to a twentieth.
        batch_size: Conversations a step.
        micro_batch: Conversations that are computed at once; ``None`` for all of a step, and on a processor, whose
            caches hold no more, for about 16, a divisor of the batch. The gradient is the same.
        max_length: Most tokens of a conversation; longer ones are left out.
        precision: ``fp32``, or ``bf16`` for the computation (weights stay in float32), or ``auto``: where the machine
            computes in bfloat16.
        seed: Seed of order and wording.
        extra: Further settings of TRL's ``SFTConfig``.
    """

    envs: tuple[str, ...]
    policy: str
    prompt: str = "full"
    trajectories: int | None = None
    expert: str = "expert"
    data: tuple[str, ...] = ()
    least: float = 1.0
    fresh_ids: bool = False
    fresh_words: bool = False
    first_turns: int | None = None
    whole_every: int | None = None
    held_out: int | None = None
    epochs: float = 1.0
    steps: int | None = None
    lr: float = 1e-3
    batch_size: int = 16
    micro_batch: int | None = None
    max_length: int = 2048
    precision: str = "auto"
    seed: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what cannot be.

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
        for name in ("batch_size", "micro_batch", "max_length"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}", where=name, fix="Use 1 or more.")
        for name in ("lr", "epochs"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} is {getattr(self, name)}", where=name, fix="Use more than 0.")
        if self.held_out is not None and self.held_out < 0:
            raise InputError(f"held_out is {self.held_out}", where="held_out", fix="Use 0 or more.")
        for name in ("steps", "first_turns", "whole_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} is {value}", where=name, fix="Use 1 or more.")
        if self.whole_every and not self.first_turns:
            fix = "Give --first-turns, too, or leave it out."
            raise InputError("all trajectories are whole", where="whole_every", fix=fix)
        if self.prompt not in ("full", "compact"):
            raise InputError(f"prompt is {self.prompt!r}", where="prompt", fix="Use full or compact.")
        if self.precision not in ("auto", "fp32", "bf16"):
            raise InputError(f"precision is {self.precision!r}", where="precision", fix="Use auto, fp32 or bf16.")
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
