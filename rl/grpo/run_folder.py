"""The folder of one training: its files, its settings, and the lock that keeps a second launch out."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.grpo.options import MAY_CHANGE

RESOURCES = re.compile(
    r"offload|(token_len|micro_batch_size)_per_gpu$|gpu_memory_utilization$|max_num_(seqs|batched_tokens)$"
    r"|enable_gradient_checkpointing$|object_store_memory$|filter_groups\.max_(num|inflight)_gen_batches$"
)
"""Keys of verl's configuration that may differ when a run is resumed: they limit memory or retries, and do not change
what is learned.
"""


class RunFolder:
    """Paths of one training.

    Args:
        path: The folder, absolute.

    Attributes:
        settings: The run's settings, as JSON.
        log: Everything that verl and Ray print.
        metrics: One line of JSON for each step.
        data: Facts about the dataset: rows, environments, longest prompt.
        checkpoints: Folder of verl's checkpoints, ``global_step_N``.
        policy: The trained policy in the format of Hugging Face.
        start_policy: The policy that was created for this run, if none was given.
        curve: The learning curve.
        attempts: Folder of verl's own metrics, one file for each start of the run.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings = path / "settings.json"
        self.log = path / "train.log"
        self.metrics = path / "metrics.jsonl"
        self.data = path / "data.json"
        self.checkpoints = path / "checkpoints"
        self.policy = path / "policy"
        self.start_policy = path / "start-policy"
        self.curve = path / "curve.png"
        self.attempts = path / "verl-metrics"

    @property
    def begun(self) -> bool:
        """Whether a training has begun here."""
        return self.settings.is_file()

    def new_attempt(self) -> Path:
        """A new file for verl's metrics."""
        self.attempts.mkdir(exist_ok=True)
        number = 1
        while (path := self.attempts / f"{number}.jsonl").exists():
            number += 1
        return path


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def write_settings(folder: RunFolder, settings: Mapping[str, Any]) -> None:
    """Write the run's settings."""
    write_whole(folder.settings, json.dumps(settings, indent=1) + "\n")


def check_settings(folder: RunFolder, settings: Mapping[str, Any]) -> None:
    """Check that a resumed run has the settings it was started with.

    Raises:
        InputError: No run was started here, or a setting differs; names the setting.
    """
    try:
        before = json.loads(folder.settings.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        fix = "Leave --resume out to begin one."
        raise InputError(f"no training has begun in {folder.path}", where="--resume", fix=fix) from None
    now = json.loads(json.dumps(settings))
    for name in sorted((set(before) | set(now)) - MAY_CHANGE):
        one, two = before.get(name), now.get(name)
        found = _of_another_run(one or [], two or []) if name == "overrides" else _difference(name, one, two)
        if found is not None:
            what = f"{found[0]} was {_short(found[1])} and now is {_short(found[2])}"
            fix = f"Give the options of the run (see {folder.settings}), or another --out."
            raise InputError(what, where="--resume", fix=fix)


def _of_another_run(before: Sequence[str], now: Sequence[str]) -> tuple[str, Any, Any] | None:
    """The first override of verl's configuration that differs and changes what is learned."""
    one, two = ({word.lstrip("+~").partition("=")[0]: word for word in words} for words in (before, now))
    for key in sorted(set(one) | set(two)):
        if one.get(key) != two.get(key) and not RESOURCES.search(key):
            return f"--set {key}", one.get(key), two.get(key)
    return None


def _difference(name: str, before: Any, now: Any) -> tuple[str, Any, Any] | None:
    """The first leaf that differs between two settings, with its dotted name."""
    if isinstance(before, list) and isinstance(now, list):
        before, now = dict(enumerate(before)), dict(enumerate(now))
    if not isinstance(before, dict) or not isinstance(now, dict):
        return None if before == now else (name, before, now)
    for key in [*before, *(key for key in now if key not in before)]:
        if found := _difference(f"{name}.{key}", before.get(key), now.get(key)):
            return found
    return None


def _short(value: Any, most: int = 120) -> str:
    text = json.dumps(value)
    return text if len(text) <= most else f"{text[:most]}…"


@contextmanager
def only_one(folder: RunFolder) -> Iterator[None]:
    """Lock the folder, so that no second launch writes there.

    Raises:
        InputError: Another launch has the lock.
    """
    import fcntl

    with open(folder.path / ".lock", "a", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            fix = "Wait for it, stop it, or give another --out."
            raise InputError(f"a training is running in {folder.path}", where="--out", fix=fix) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield
