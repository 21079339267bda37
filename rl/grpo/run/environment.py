"""What the processes of a GRPO training are started with: environment variables, a folder for Ray."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from simia_gym.rl.extras import cores
from simia_gym.rl.grpo.config.profile import Profile
from simia_gym.rl.grpo.run.run_folder import RunFolder
from simia_gym.rl.verl_run.process import PLUG_IN, THREADS

_RAY_PREFIX = "simia-ray-"
_SHORT = 20


def variables(profile: Profile, folder: RunFolder, policy: str, attempt: Path) -> dict[str, str]:
    """Environment variables of all processes of the training; no secrets, since verl's configuration shows them."""
    modules = os.environ.get("VERL_USE_EXTERNAL_MODULES", "").split(",")
    found = {
        "HF_DATASETS_CACHE": str(folder.path / ".cache"),
        "HYDRA_FULL_ERROR": "1",  # else the log does not say why a class cannot be imported
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


def make_ray_folder(folder: RunFolder) -> Path:
    """Create a folder for Ray's files with a short path, since paths of sockets are limited to about 100 bytes.

    The folder of an earlier start of the run is removed.
    """
    base = Path(tempfile.gettempdir())
    note = folder.path / ".ray"
    if note.is_file() and (former := Path(note.read_text(encoding="utf-8").strip())).name.startswith(_RAY_PREFIX):
        shutil.rmtree(former, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=_RAY_PREFIX, dir=base if len(str(base)) <= _SHORT else "/tmp"))
    note.write_text(f"{made}\n", encoding="utf-8")
    return made
