"""Complete checkpoints: marked when verl has written them, found, pruned, exported."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from simia_gym.common.writing import write_whole

MARK = "complete.json"
_NAME = re.compile(r"global_step_(\d+)")


class MarkComplete:
    """verl's callback after each checkpoint (``trainer.checkpoint_callback_class``).

    Writes the names and sizes of the checkpoint's files atomically, and removes old checkpoints.

    Args:
        config: verl's configuration; ``trainer.keep_checkpoints`` is the number of checkpoints to keep.
    """

    def __init__(self, config: Any = None) -> None:
        self._keep = None if config is None else config.trainer.get("keep_checkpoints")

    def on_save(self, trainer: Any, global_step: int, checkpoint_dir: str, **further: Any) -> None:
        """Mark the checkpoint as complete and prune older ones."""
        folder = Path(checkpoint_dir)
        mark_complete(folder, global_step)
        if self._keep:
            thin_out(folder.parent, int(self._keep))


def mark_complete(folder: Path, step: int) -> None:
    """Mark a checkpoint as complete."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MARK)
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in found}
    write_whole(folder / MARK, json.dumps({"step": step, "files": sizes}, indent=1))


def is_complete(folder: Path) -> bool:
    """Whether a checkpoint has its mark, and every file has the size noted there."""
    try:
        files = json.loads((folder / MARK).read_text(encoding="utf-8"))["files"]
        return bool(files) and all((folder / name).stat().st_size == size for name, size in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def step_of(folder: Path) -> int:
    """The step of a checkpoint, from its name."""
    found = _NAME.fullmatch(folder.name)
    return int(found.group(1)) if found else -1


def all_checkpoints(folder: Path) -> list[Path]:
    """All checkpoints, complete or not, the latest last."""
    if not folder.is_dir():
        return []
    return sorted((path for path in folder.iterdir() if step_of(path) >= 0), key=step_of)


def latest_complete(folder: Path) -> Path | None:
    """The latest complete checkpoint."""
    return next((path for path in reversed(all_checkpoints(folder)) if is_complete(path)), None)


def remove_incomplete(folder: Path) -> list[int]:
    """Remove the incomplete checkpoints of a run that was stopped while it saved; return their steps."""
    torn = [path for path in all_checkpoints(folder) if not is_complete(path)]
    for path in torn:
        shutil.rmtree(path, ignore_errors=True)
    return [step_of(path) for path in torn]


def thin_out(folder: Path, keep: int) -> None:
    """Remove all but the latest complete checkpoints."""
    whole = [path for path in all_checkpoints(folder) if is_complete(path)]
    for path in whole[: -max(1, keep)]:
        (path / MARK).unlink(missing_ok=True)  # first, so that no half-removed checkpoint looks complete
        shutil.rmtree(path, ignore_errors=True)


def export_policy(checkpoint: Path, target: Path) -> Path:
    """Copy a checkpoint's policy in the format of Hugging Face; the target is replaced if it exists.

    Raises:
        FileNotFoundError: The checkpoint holds no weights in that format.
    """
    source = checkpoint / "actor" / "huggingface"
    if not any(source.glob("*.safetensors")):
        raise FileNotFoundError(f"no weights in {source}")
    beside = target.with_name(f".{target.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    shutil.copytree(source, beside)
    shutil.rmtree(target, ignore_errors=True)
    beside.rename(target)
    return target
