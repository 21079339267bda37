"""The surroundings of a training's processes: their variables, and a folder for Ray."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from simia_gym.rl.grpo.profile import Profile
from simia_gym.rl.grpo.run_folder import RunFolder

THREADS = "OMP_NUM_THREADS"
PLUG_IN = "simia_gym.rl.verl_plugin.load"


def variables(profile: Profile, folder: RunFolder, policy: str, attempt: Path) -> dict[str, str]:
    """Variables that every process of the training needs. Nothing secret: they stand in verl's configuration."""
    modules = os.environ.get("VERL_USE_EXTERNAL_MODULES", "").split(",")
    found = {
        "HF_DATASETS_CACHE": str(folder.path / ".cache"),
        "PYTHONUNBUFFERED": "1",
        "RAY_DEDUP_LOGS": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "TENSORBOARD_DIR": str(folder.path / "tensorboard"),
        "TRANSFORMERS_VERBOSITY": "error",
        "VERL_FILE_LOGGER_PATH": str(attempt),
        "VERL_USE_EXTERNAL_MODULES": ",".join([PLUG_IN, *(name for name in modules if name and name != PLUG_IN)]),
        "WANDB_DIR": str(folder.path),
    }
    if Path(policy).is_dir():
        found["HF_HUB_OFFLINE"] = "1"
    found |= profile.environment
    if found.get(THREADS) == "cores":
        found[THREADS] = os.environ.get(THREADS) or str(cores())
    return found


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def make_ray_folder() -> Path:
    """A folder for Ray's files, with a path that is short: sockets lie in it, whose paths have a limit."""
    base = Path(tempfile.gettempdir())
    short = len(str(base)) <= 20
    return Path(tempfile.mkdtemp(prefix="simia-", dir=base if short else "/tmp"))
