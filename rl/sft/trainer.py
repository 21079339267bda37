"""Sets up TRL's SFTTrainer for conversations that are encoded as token ids."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from simia_gym.errors import InputError
from simia_gym.rl.extras import require
from simia_gym.rl.generation.loading import find_model, load_model, load_tokenizer
from simia_gym.rl.sft.encode import EncodedSet
from simia_gym.rl.sft.order import MixedLengths
from simia_gym.rl.sft.settings import SFTSettings

CHECKPOINTS = "checkpoints"
_STATE = "trainer_state.json"
_LEAST_LR = 0.05
_LEAST_ROOM = 0.25
"""Part of a conversation that fits, below which activations are computed again instead of kept (on CPU)."""
_MOST_AT_ONCE = 16
"""Maximum conversations in one forward pass on CPU; with more, the activations exceed the CPU's caches."""
ACTIVATIONS = 2**31
"""Bytes of activations that one forward pass on CPU may keep for the backward pass, if one conversation needs less."""


def load(policy: str) -> tuple[Any, Any]:
    """Load a model in float32, and its tokenizer, from a folder or by a name on the Hugging Face hub.

    Raises:
        InputError: There is no such model, or it cannot be loaded.
    """
    require("trl", "trl", "datasets")
    folder = find_model(policy, where=f"policy {policy}")
    tokenizer = load_tokenizer(folder)
    return load_model(folder, tokenizer, device="cpu", dtype="float32").model, tokenizer


def number_of_processes(settings: SFTSettings) -> int:
    """Number of processes: that of the settings, or one for each GPU; 1 on CPU.

    Raises:
        InputError: This process was started by a launcher of several, or there are fewer GPUs than processes.
    """
    import torch

    if os.environ.get("WORLD_SIZE", "1") not in ("", "1"):
        fix = "Start it without a launcher; see --processes."
        raise InputError(f"it would be one of {os.environ['WORLD_SIZE']} processes", where="WORLD_SIZE", fix=fix)
    cards = torch.cuda.device_count()
    if settings.processes and cards and settings.processes > cards:
        what = f"{settings.processes} processes need as many graphics cards, and there are {cards}"
        raise InputError(what, where="processes", fix="Use fewer.")
    return settings.processes or max(1, cards)


def make_trainer(
    model: Any,
    tokenizer: Any,
    train: EncodedSet,
    held_out: EncodedSet,
    settings: SFTSettings,
    folder: Path,
    *,
    on_log: Callable[[int, int, Mapping[str, float]], None],
) -> Any:
    """Create TRL's trainer; ``on_log`` is called with step, number of steps and metrics."""
    import torch
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import SFTConfig

    from simia_gym.rl.sft.policy_tokens import PolicyTokensTrainer

    class Report(TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            numbers = {name: float(value) for name, value in (logs or {}).items() if isinstance(value, int | float)}
            on_log(state.global_step, state.max_steps, numbers)

    packing = bool(settings.extra.get("packing"))
    rows, longest = len(train.rows), max(len(row.input_ids) for row in train.rows)
    if packing:
        longest = settings.max_length or longest
        rows = -(-sum(len(row.input_ids) for row in train.rows) // longest)
    on_cpu = not torch.cuda.is_available()
    room = ACTIVATIONS / (longest * activation_bytes(model.config))
    at_once = settings.micro_batch or computed_at_once(settings.batch_size, room, on_cpu=on_cpu)
    steps = number_of_steps(settings, rows)
    given: dict[str, Any] = {
        "output_dir": str(folder / CHECKPOINTS),
        "max_steps": steps,
        "learning_rate": settings.lr,
        "lr_scheduler_type": "cosine_with_min_lr",
        "lr_scheduler_kwargs": {"min_lr_rate": _LEAST_LR},
        "warmup_steps": min(50, max(1, steps // 20)),
        "adam_beta2": 0.98,
        "weight_decay": 0.1,
        "per_device_train_batch_size": at_once,
        "per_device_eval_batch_size": at_once,
        "gradient_accumulation_steps": settings.batch_size // at_once,
        "gradient_checkpointing": on_cpu and room < _LEAST_ROOM,
        "max_length": longest if packing else None,
        "packing": False,
        "bf16": computes_in_bf16(settings.precision),
        "use_cpu": on_cpu,
        "logging_steps": 10,
        "logging_first_step": True,
        "eval_strategy": "steps" if held_out.rows else "no",
        "eval_on_start": bool(held_out.rows),
        "eval_steps": max(10, steps // 20),
        "save_strategy": "steps",
        "save_steps": max(10, steps // 10),
        "save_total_limit": 2,
        "report_to": [],
        "disable_tqdm": True,
        "seed": settings.seed,
        "data_seed": settings.seed,
        "dataloader_pin_memory": False,
    }
    given.update(settings.extra)
    try:
        config = SFTConfig(**given)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"TRL refuses a setting: {error}", where="settings", fix="See the fields of trl.SFTConfig."
        ) from error
    config._n_gpu = min(1, config.n_gpu)  # else transformers would use all visible GPUs
    trainer = PolicyTokensTrainer(
        model=model,
        args=config,
        train_dataset=Dataset.from_list(_rows(train)),
        eval_dataset=Dataset.from_list(_rows(held_out)) if held_out.rows else None,
        processing_class=tokenizer,
        callbacks=[Report()],
    )
    if "train_sampling_strategy" not in settings.extra and not packing:
        lengths = [len(row.input_ids) for row in train.rows]
        trainer.order = MixedLengths(lengths, settings.batch_size, settings.seed)
    from transformers.trainer_callback import PrinterCallback

    trainer.remove_callback(PrinterCallback)
    return trainer


def _rows(encoded: EncodedSet) -> list[dict[str, Any]]:
    return [{"input_ids": row.input_ids, "labels": row.labels} for row in encoded.rows]


def number_of_steps(settings: SFTSettings, rows: int) -> int:
    """Number of optimizer steps with so many rows of training data."""
    return settings.steps or max(1, round(settings.epochs * rows / settings.batch_size))


def computed_at_once(batch: int, room: float, *, on_cpu: bool) -> int:
    """Default number of conversations in one forward pass: a divisor of the batch size.

    Args:
        batch: The batch size.
        room: Number of conversations whose activations fit into memory on CPU.
        on_cpu: Whether to train on CPU.
    """
    most = max(1, min(_MOST_AT_ONCE, int(room))) if on_cpu else batch
    return max(part for part in range(1, min(batch, most) + 1) if batch % part == 0)


def activation_bytes(config: Any) -> int:
    """Estimate of the bytes that a forward pass in 32 bits keeps for each token, from a model's shape."""
    text = config.get_text_config()
    inner = getattr(text, "intermediate_size", None) or 4 * text.hidden_size
    return int(4 * text.num_hidden_layers * (16 * text.hidden_size + 5 * inner))


def computes_in_bf16(precision: str) -> bool:
    """Whether to compute in bfloat16; ``auto``: if the hardware supports it."""
    if precision != "auto":
        return precision == "bf16"
    import torch

    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported())
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def last_evaluation(trainer: Any) -> dict[str, float]:
    """Metrics on held-out conversations after the last step; evaluates them if that has not been done."""
    state = trainer.state
    if not any("eval_loss" in line and line["step"] == state.global_step for line in state.log_history):
        trainer.evaluate()
    looks = [line for line in state.log_history if "eval_loss" in line]
    return {name: float(value) for name, value in looks[-1].items() if name.startswith("eval_")}


def last_checkpoint(folder: Path) -> Path | None:
    """The latest complete checkpoint of a run; incomplete ones of a killed run are deleted."""
    found: list[tuple[int, Path]] = []
    for path in (folder / CHECKPOINTS).glob("checkpoint-*"):
        try:
            # The trainer writes this file last.
            step = int(orjson.loads((path / _STATE).read_bytes())["global_step"])
        except (OSError, ValueError, KeyError, TypeError):
            shutil.rmtree(path, ignore_errors=True)
            continue
        found.append((step, path))
    return max(found)[1] if found else None
