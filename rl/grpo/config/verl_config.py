"""verl's configuration of a run: its settings become overrides, which are composed and validated as verl does."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.chat.thinking import template_arguments
from simia_gym.rl.extras import first_line, require
from simia_gym.rl.grpo.config.options import RunPlan
from simia_gym.rl.grpo.config.profile import merged
from simia_gym.rl.grpo.config.sizes import fitted
from simia_gym.rl.grpo.run.episodes import BATCHES
from simia_gym.rl.small.logits import plain_logits

MAIN = "ppo_trainer"
SAMPLER = {"path": "pkg://simia_gym.rl.grpo.in_verl.sampler", "name": "episode_sampler"}
ON_SAVE = "simia_gym.rl.grpo.run.checkpoints.MarkComplete"
RISING_STEPS = 5
"""Warm-up steps of the learning rate; fewer in short runs. Adam's first update moves each weight by the full learning
rate, whatever the size of the gradient. In one run without warm-up (1.5e-4), the first step of a small policy changed
it more (KL 0.025) than the next three together (0.012).
"""
_FIX = "Give KEY=VALUE for a key of verl's configuration, +KEY=VALUE for one it does not declare, ~KEY to remove one."


def overrides(
    plan: RunPlan,
    *,
    run: Path,
    policy: str,
    rows: int,
    environment: dict[str, str],
    resume_from: Path | None = None,
    validate_first: bool = False,
    ray_folder: Path | None = None,
    model: Any = None,
) -> list[str]:
    """Overrides for ``python -m verl.trainer.main_ppo``: the profile's, then the run's, then those of ``--set``.

    Args:
        plan: The run.
        run: Its folder.
        policy: Folder or hub name of the policy to start from.
        rows: Number of rows of the training dataset.
        environment: Environment variables of all processes of the training; no secrets.
        resume_from: Checkpoint to resume from.
        validate_first: Whether to validate before the first step.
        ray_folder: Folder for Ray's files, if the launch starts Ray.
        model: The configuration of the policy, if it is known. The sizes of micro-batches and of the rollout engine
            follow it on CPU. Verl's fused kernels are turned off if its logits are no plain product of hidden states
            and output embeddings.
    """
    profile, length = plan.profile, plan.max_prompt_length + plan.max_response_length
    actor = profile.set.get("actor_rollout_ref", {}).get("actor", {})
    declared: dict[str, Any] = {
        "data": {
            "train_files": str(run / "train.parquet"),
            "val_files": str(run / "val.parquet"),
            "train_batch_size": plan.groups,
            "max_prompt_length": plan.max_prompt_length,
            "max_response_length": plan.max_response_length,
            "seed": plan.seed,
        },
        "actor_rollout_ref": {
            "model": {"path": policy},
            "actor": {
                "ppo_mini_batch_size": plan.groups,
                "ppo_max_token_len_per_gpu": max(length, int(actor.get("ppo_max_token_len_per_gpu", 0))),
                "data_loader_seed": plan.seed,
                "optim": {"lr": plan.learning_rate, "lr_warmup_steps": min(RISING_STEPS, plan.steps // 10)},
                "fsdp_config": {"seed": plan.seed},
            },
            "rollout": {
                "name": plan.engine_name,
                "n": plan.group_size,
                "seed": plan.seed,
                "max_model_len": length,
                "agent": {"agent_loop_config_path": str(run / "agent_loops.yaml")},
            },
        },
        "trainer": {
            "project_name": "simia",
            "experiment_name": run.name,
            "logger": ["console", "file", *plan.logger],
            "total_training_steps": plan.steps,
            "total_epochs": math.ceil(plan.steps / max(1, rows // plan.groups)) + 1,
            "save_freq": plan.save_every,
            "test_freq": plan.validation_every or -1,
            "val_before_train": validate_first,
            "default_local_dir": str(run / "checkpoints"),
            "checkpoint_callback_class": ON_SAVE,
            "resume_mode": "disable" if resume_from is None else "resume_path",
            "resume_from_path": None if resume_from is None else str(resume_from),
            "v1": {"sampler": {"custom_sampler": SAMPLER}},
        },
    }
    if profile.on_cpu and model is not None:
        sizes = fitted(model, length, profile.set.get("actor_rollout_ref", {}))
        declared = merged(declared, {"actor_rollout_ref": sizes})
    if plan.temperature is not None:
        declared = merged(declared, {"actor_rollout_ref": {"rollout": {"temperature": plan.temperature}}})
    if plan.dynamic_sampling:
        declared = merged(declared, {"algorithm": {"filter_groups": {"enable": True}}})
    if model is not None and not plain_logits(model):
        declared = merged(declared, {"actor_rollout_ref": {"model": {"use_fused_kernels": False}}})
    added: dict[str, Any] = {
        "trainer": {
            "keep_checkpoints": plan.keep,
            "v1": {"sampler": {"sampler_kwargs": {"batches": str(run / BATCHES)}}},
        },
        "ray_kwargs": {"ray_init": {"runtime_env": {"env_vars": environment}}},
    }
    if arguments := template_arguments(plan.thinking):
        added = merged(added, {"data": {"apply_chat_template_kwargs": arguments}})
    if ray_folder is not None:
        added = merged(added, {"ray_kwargs": {"ray_init": {"_temp_dir": str(ray_folder)}}})
    whole = replace(profile, set=merged(profile.set, declared), add=merged(profile.add, added))
    return [*whole.overrides(), *plan.overrides]


def compose(overrides: Sequence[str], main: str = MAIN) -> Any:
    """Compose the configuration that a trainer of verl gets with the same overrides, an ``omegaconf.DictConfig``.

    Raises:
        InputError: Hydra refuses an override; names it.
    """
    require("rl", "hydra", "omegaconf", "verl")
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException

    GlobalHydra.instance().clear()
    spec = importlib.util.find_spec("verl")  # to import it takes seconds
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / "trainer" / "config"
    try:
        with initialize_config_dir(str(folder), version_base=None):
            return hydra_compose(main, overrides=list(overrides))
    except HydraException as error:
        raise InputError(first_line(error), where="--set", fix=_FIX) from None


def validate(config: Any) -> None:
    """Run verl's own checks of a configuration. Imports verl.

    Raises:
        InputError: verl refuses it.
    """
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    try:
        validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
    except Exception as error:
        what = f"verl refuses this configuration: {first_line(error)}"
        raise InputError(what, where="configuration", fix="Change the option that the message names.") from error


def check_supported(config: Any) -> None:
    """Refuse what verl could do and this package cannot.

    With asynchronous saving verl would report a checkpoint while it is still being written. Our sampler can filter
    groups by their rewards alone. The rollout engines of this package take whole weights, no adapters.

    Raises:
        InputError: Names the key of the configuration.
    """
    if config.actor_rollout_ref.actor.checkpoint.get("async_save"):
        what = "with asynchronous saving it is not known when a checkpoint is complete"
        raise InputError(what, where="actor_rollout_ref.actor.checkpoint.async_save", fix="Leave it at false.")
    model, engine = config.actor_rollout_ref.model, config.actor_rollout_ref.rollout.name
    adapter = model.lora_rank > 0 or model.lora_adapter_path is not None
    if engine in ("hf_server", "vllm_cpu") and adapter and not model.lora.merge:
        what = f"the rollout engine {engine} takes no LoRA adapters"
        fix = "Set actor_rollout_ref.model.lora.merge=true, or train all weights (lora_rank=0)."
        raise InputError(what, where="actor_rollout_ref.model.lora_rank", fix=fix)
    wanted = config.algorithm.filter_groups
    if wanted.enable and wanted.metric != "reward":
        what = f"groups can be filtered by their rewards, not by {wanted.metric!r}"
        raise InputError(what, where="algorithm.filter_groups.metric", fix="Leave it at reward.")


def as_yaml(config: Any) -> str:
    """A configuration as YAML, with references resolved."""
    from omegaconf import OmegaConf

    return str(OmegaConf.to_yaml(config, resolve=True))
