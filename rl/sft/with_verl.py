"""Supervised training on several GPUs: verl's own SFT trainer, with the tokens and masks of our trainer on one.

verl gets the conversations encoded. As in our trainer, the loss of a step is a mean over the learned tokens of its
whole batch, whichever process they are in.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from simia_gym.errors import InputError
from simia_gym.rl.extras import cores, require
from simia_gym.rl.sft.encode import IGNORED, EncodedSet
from simia_gym.rl.sft.settings import SFTSettings
from simia_gym.rl.sft.trainer import ACTIVATIONS, activation_bytes, computes_in_bf16, number_of_steps
from simia_gym.rl.small.logits import plain_logits
from simia_gym.rl.verl_run.hydra import QUIET_HYDRA, flat, quoted
from simia_gym.rl.verl_run.log import Tail, last_error
from simia_gym.rl.verl_run.process import PLUG_IN, THREADS, Training

MAIN = "sft_trainer_engine"
LOG = "train.log"
_NAMES = {
    "train/loss": "loss",
    "train/grad_norm": "grad_norm",
    "train/lr": "learning_rate",
    "train/global_tokens": "tokens",
    "val/loss": "eval_loss",
}
"""Names of verl's metrics, and of the same metrics of TRL's trainer."""
_LOOK = 0.5
_TOKENS = 16_384
"""Tokens in one forward pass on a GPU; more if the longest conversation has more."""


class EncodedRows:
    """The data set class that verl loads: encoded conversations of a file of `write_rows`.

    Args:
        parquet_files: The file, or a list of one.
        max_samples: Unused; verl passes it.
        further: Unused; verl passes tokenizer, processor and configuration.
    """

    def __init__(self, parquet_files: Any, *, max_samples: int = -1, **further: Any) -> None:
        from pyarrow import parquet

        file = parquet_files if isinstance(parquet_files, str) else parquet_files[0]
        self._rows = parquet.read_table(file).to_pylist()

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> dict[str, Any]:
        """Token ids, positions, and 1 at each token that is learned."""
        import torch

        row = self._rows[place]
        ids = torch.tensor(row["input_ids"])
        return {"input_ids": ids, "position_ids": torch.arange(len(ids)), "loss_mask": torch.tensor(row["loss_mask"])}


def write_rows(path: Path, encoded: EncodedSet) -> None:
    """Write encoded conversations for verl: token ids, and 1 at each token that is learned."""
    from pyarrow import Table, parquet

    rows = [
        {"input_ids": row.input_ids, "loss_mask": [int(label != IGNORED) for label in row.labels]}
        for row in encoded.rows
    ]
    parquet.write_table(Table.from_pylist(rows), path)


class VerlRun:
    """A training with verl.

    Args:
        settings: Its settings.
        folder: The run's folder, where the conversations are written for verl.
        processes: Number of processes.
        config: The model's configuration.
        train: The training conversations.
        held_out: The held-out conversations.

    Attributes:
        steps: Number of optimizer steps.
        validates: Whether verl measures held-out conversations; it leaves out what does not fill a batch.

    Raises:
        InputError: There are fewer conversations than a batch has.
    """

    def __init__(
        self, settings: SFTSettings, folder: Path, processes: int, config: Any, train: EncodedSet, held_out: EncodedSet
    ) -> None:
        import torch

        if len(train.rows) < settings.batch_size:
            what = f"{len(train.rows)} trajectories fill no batch of {settings.batch_size}"
            raise InputError(what, where="batch_size", fix="Use a smaller one.")
        write_rows(folder / "train.parquet", train)
        write_rows(folder / "held-out.parquet", held_out)
        self._settings, self._folder, self._processes, self._config = settings, folder.resolve(), processes, config
        self._on_cpu = not torch.cuda.is_available()
        self._longest = max(len(row.input_ids) for row in (*train.rows, *held_out.rows))
        self._batches = len(train.rows) // settings.batch_size
        self.steps = number_of_steps(settings, len(train.rows))
        self.validates = len(held_out.rows) >= settings.batch_size

    def overrides(self, *, resume: bool = False) -> list[str]:
        """Overrides of verl's configuration ``sft_trainer_engine``; those of ``--set`` come last."""
        settings, folder, on_cpu = self._settings, self._folder, self._on_cpu
        precision = "bf16" if computes_in_bf16(settings.precision) else "fp32"
        most = ACTIVATIONS // activation_bytes(self._config) if on_cpu else _TOKENS
        flash = not on_cpu and importlib.util.find_spec("flash_attn") is not None
        warm_up, every = min(50, max(1, self.steps // 20)), max(10, self.steps // 20)
        declared = {
            "data": {
                "train_files": str(folder / "train.parquet"),
                "val_files": str(folder / "held-out.parquet") if self.validates else None,
                "train_batch_size": settings.batch_size,
                "use_dynamic_bsz": settings.micro_batch is None,
                "max_token_len_per_gpu": max(self._longest, most),
                "micro_batch_size_per_gpu": settings.micro_batch or 1,
                "custom_cls": {"path": f"pkg://{__name__}", "name": EncodedRows.__name__},
                "num_workers": 0,
            },
            "model": {
                "path": str(Path(settings.policy).resolve()) if Path(settings.policy).is_dir() else settings.policy,
                "use_remove_padding": flash,
                "use_fused_kernels": plain_logits(self._config),
                "enable_gradient_checkpointing": not on_cpu,
            },
            "engine": {"strategy": "fsdp2", "seed": settings.seed, "use_torch_compile": not on_cpu},
            "optim": {
                "lr": settings.lr,
                "lr_scheduler_type": "cosine",
                "min_lr_ratio": 0.05,
                "lr_warmup_steps": warm_up,
                "betas": [0.9, 0.98],
                "weight_decay": 0.1,
            },
            "checkpoint": {
                "save_contents": ["model", "optimizer", "extra", "hf_model"],
                "load_contents": ["model", "optimizer", "extra"],
            },
            "trainer": {
                "default_local_dir": str(folder / "checkpoints"),
                "project_name": "simia",
                "experiment_name": folder.name,
                "total_epochs": math.ceil(self.steps / self._batches),
                "total_training_steps": self.steps,
                "logger": ["console", "file"],
                "seed": settings.seed,
                "save_freq": max(10, self.steps // 10),
                "test_freq": every if self.validates else -1,
                "max_ckpt_to_keep": 2,
                "resume_mode": "auto" if resume else "disable",
                "device": "cpu" if on_cpu else "cuda",
                "n_gpus_per_node": self._processes,
            },
        }
        added = {
            "model": {"override_config": {"attn_implementation": "flash_attention_2" if flash else "sdpa"}},
            "engine": {
                "mixed_precision": {"param_dtype": precision, "reduce_dtype": "fp32", "buffer_dtype": "fp32"},
            },
        }
        words = [f"{key}={quoted(value)}" for key, value in flat(declared)]
        words += [f"+{key}={quoted(value)}" for key, value in flat(added)]
        return [*words, *(f"++{key}={quoted(value)}" for key, value in settings.extra.items())]

    def command(self, *, resume: bool = False) -> list[str]:
        """Verl's own SFT trainer, started by torchrun in this Python."""
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(self._processes)]
        words = [*self.overrides(resume=resume), *QUIET_HYDRA]
        return [sys.executable, *launcher, "-m", "verl.trainer.sft_trainer", *words]

    def environment(self) -> dict[str, str]:
        """Variables of all processes."""
        found = {"VERL_USE_EXTERNAL_MODULES": PLUG_IN, "HYDRA_FULL_ERROR": "1", "PYTHONUNBUFFERED": "1"}
        found["VERL_FILE_LOGGER_PATH"] = str(self._folder / "verl-metrics.jsonl")
        if Path(self._settings.policy).is_dir():
            found["HF_HUB_OFFLINE"] = "1"
        if self._on_cpu:
            threads = str(max(1, cores() // self._processes))
            found |= {"VERL_PLATFORM": "cpu", "VERL_ENGINE_DEVICE": "cuda", THREADS: threads}
        return found

    def train(self, on_log: Callable[[int, int, Mapping[str, float]], None], *, resume: bool = False) -> Path:
        """Run it; return the folder of the last checkpoint's model.

        Raises:
            InputError: verl ended early; says why and where its log is.
        """
        measured, log_file = Path(self.environment()["VERL_FILE_LOGGER_PATH"]), self._folder / LOG
        measured.unlink(missing_ok=True)
        with log_file.open("ab") as log:
            offset = log.tell()
            training = Training(self._folder, self.command(resume=resume), self.environment(), log)
            try:
                for line in _lines(measured, training):
                    found = line["data"]
                    on_log(line["step"], self.steps, {_NAMES[name]: found[name] for name in _NAMES if name in found})
            finally:
                training.stop()
        policy = self._folder / "checkpoints" / f"global_step_{self.steps}" / "huggingface"
        if training.exit_code != 0 or not policy.is_dir():
            reason = last_error(log_file, offset) or f"verl ended with exit code {training.exit_code}"
            fix = f"See {log_file}; then give the same command with --resume."
            raise InputError(f"the training ended early: {reason}", where=str(self._folder), fix=fix)
        return policy


def _lines(path: Path, training: Training) -> Iterator[dict[str, Any]]:
    """The lines of verl's metrics until the training ends."""
    tail = Tail(path)
    while True:
        ended = training.exit_code is not None
        yield from map(orjson.loads, tail.lines())
        if ended:
            return
        training.wait(_LOOK)


def check(settings: SFTSettings, processes: int) -> None:
    """Check what verl's trainer needs.

    Raises:
        InputError: verl is not installed, or the batch cannot be divided.
    """
    require("rl", "verl", "torchdata", "pyarrow")
    if settings.batch_size % processes:
        what = f"batches of {settings.batch_size} cannot be divided among {processes} processes"
        raise InputError(what, where="batch_size", fix="Use a multiple.")


def latest_step(folder: Path) -> int:
    """The step of the last complete checkpoint of verl; -1 if there is none."""
    tracker = folder / "checkpoints" / "latest_checkpointed_iteration.txt"
    return int(tracker.read_text(encoding="utf-8")) if tracker.is_file() else -1
