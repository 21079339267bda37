"""The folder of one training: its files, its settings, and the lock that keeps a second launch out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simia_gym.common.locks import take_lock
from simia_gym.errors import InputError
from simia_gym.rl.grpo.config.options import MAY_CHANGE
from simia_gym.rl.resume import SETTINGS
from simia_gym.types import JsonObject

RESOURCES = re.compile(
    r"offload|(token_len|micro_batch_size)_per_gpu$|gpu_memory_utilization$|max_num_(seqs|batched_tokens)$"
    r"|enable_gradient_checkpointing$|object_store_memory$|filter_groups\.max_(num|inflight)_gen_batches$"
)
"""Keys of verl's configuration that may differ when a run is resumed: they limit memory or retries, and do not change
what is learned.
"""


class RunFolder:
    """Paths of one training.

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
        self.settings = path / SETTINGS
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


def fixed(settings: JsonObject) -> JsonObject:
    """The settings that a resumed run must share with its start; each key of verl's configuration is one of them."""
    words = {f"--set {word.lstrip('+~').partition('=')[0]}": word for word in settings.get("overrides", ())}
    kept = {name: value for name, value in settings.items() if name not in MAY_CHANGE and name != "overrides"}
    return kept | {key: word for key, word in words.items() if not RESOURCES.search(key)}


@contextmanager
def only_one(folder: RunFolder) -> Iterator[None]:
    """Lock the folder, so that no second launch writes there.

    Raises:
        InputError: Another launch has the lock.
    """
    path = folder.path / ".lock"
    with path.open("ab") as lock:
        if not take_lock(lock.fileno(), path):
            fix = "Wait for it, stop it, or give another --out."
            raise InputError(f"a training is running in {folder.path}", where="--out", fix=fix)
        yield
