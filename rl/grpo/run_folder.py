"""The folder of one training: what lies where in it, and who may write there."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.grpo.options import MAY_CHANGE

RESOURCES = re.compile(
    r"offload|(token_len|micro_batch_size)_per_gpu$|gpu_memory_utilization$|max_num_(seqs|batched_tokens)$"
    r"|enable_gradient_checkpointing$|object_store_memory$|filter_groups\.max_(num|inflight)_gen_batches$"
)
"""Keys of verl's configuration that a resumed run may have otherwise than before: they decide what fits and when it is
given up, not what is learnt.
"""


@dataclass(frozen=True)
class RunFolder:
    """Paths of one training.

    Attributes:
        path: The folder, absolute.
    """

    path: Path

    @property
    def settings(self) -> Path:
        """What the run is, as JSON."""
        return self.path / "settings.json"

    @property
    def log(self) -> Path:
        """Everything that verl and Ray print."""
        return self.path / "train.log"

    @property
    def metrics(self) -> Path:
        """One line a step."""
        return self.path / "metrics.jsonl"

    @property
    def data(self) -> Path:
        """What its data are: rows, environments, longest prompt."""
        return self.path / "data.json"

    @property
    def checkpoints(self) -> Path:
        """Verl's checkpoints, ``global_step_N``."""
        return self.path / "checkpoints"

    @property
    def policy(self) -> Path:
        """The trained policy, in the format of Hugging Face."""
        return self.path / "policy"

    @property
    def start_policy(self) -> Path:
        """The policy that was made for this run, where none was given."""
        return self.path / "start-policy"

    @property
    def curve(self) -> Path:
        """The learning curve."""
        return self.path / "curve.png"

    @property
    def attempts(self) -> Path:
        """Verl's own metrics, a file for each time that the run was started."""
        return self.path / "verl-metrics"

    @property
    def begun(self) -> bool:
        """Whether a training has begun here."""
        return self.settings.is_file()

    def new_attempt(self) -> Path:
        """A file for verl's metrics that is not there yet."""
        self.attempts.mkdir(exist_ok=True)
        number = 1
        while (path := self.attempts / f"{number}.jsonl").exists():
            number += 1
        return path


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def write_settings(folder: RunFolder, settings: Mapping[str, Any]) -> None:
    """Write what the run is."""
    write_whole(folder.settings, json.dumps(settings, indent=1) + "\n")


def check_settings(folder: RunFolder, settings: Mapping[str, Any]) -> None:
    """Make sure that a run to be resumed is the run that was begun.

    Raises:
        InputError: There is none, or a setting is another; it is named.
    """
    try:
        before = json.loads(folder.settings.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        fix = "Leave --resume out to begin one."
        raise InputError(f"no training has begun in {folder.path}", where="--resume", fix=fix) from None
    now = json.loads(json.dumps(settings))
    for name in sorted((set(before) | set(now)) - MAY_CHANGE):
        if name not in before and now[name] is False:  # a switch that the version which began the run did not have
            continue
        one, two = before.get(name), now.get(name)
        found = _of_another_run(one or [], two or []) if name == "overrides" else _difference(name, one, two)
        if found is not None:
            what = f"{found[0]} was {_short(found[1])} and now is {_short(found[2])}"
            fix = f"Give the options of the run (they stand in {folder.settings}), or another --out."
            raise InputError(what, where="--resume", fix=fix)


def _of_another_run(before: Sequence[str], now: Sequence[str]) -> tuple[str, Any, Any] | None:
    """The first typed key of verl's configuration that is another, and is more than memory or speed."""
    one, two = ({word.lstrip("+~").partition("=")[0]: word for word in words} for words in (before, now))
    for key in sorted(set(one) | set(two)):
        if one.get(key) != two.get(key) and not RESOURCES.search(key):
            return f"--set {key}", one.get(key), two.get(key)
    return None


def _difference(name: str, before: Any, now: Any) -> tuple[str, Any, Any] | None:
    """The first leaf of two settings that is another in one of them, with its dotted name."""
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
    """Keep a second launch out of the folder while this one runs.

    Raises:
        InputError: Another launch is at work there.
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
