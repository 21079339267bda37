"""A log of the episodes of a training, one line for each finished episode, written by the rollout workers.

Progress and metrics are computed from these lines: verl knows rewards and lengths, but no environments, kinds of tasks
or faults. On request, whole records are written too, in the format of ``simia rollout``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Literal

from simia_gym.assembly.suite import Suite
from simia_gym.common.formatting import slug
from simia_gym.common.json_encoding import encode
from simia_gym.common.locks import take_lock
from simia_gym.common.writing import append, write_whole
from simia_gym.episode import Episode
from simia_gym.errors import InputError
from simia_gym.llm.accounts import accounts
from simia_gym.record.blobs import BlobFile, blob_path
from simia_gym.rollout.jobs import Job, Plan, make_job
from simia_gym.rollout.pool import make_record
from simia_gym.types import JsonObject, Task

Purpose = Literal["train", "val"]

EPISODES, ROLLOUTS = "episodes", "rollouts"
"""Names of two folders in the run's folder."""
BATCHES = "batches.jsonl"
"""Name of a file there, only in verl's asynchronous modes: the groups that were used up in each step."""
_POLICY = "grpo@"
TRAIN: Purpose = "train"
VAL: Purpose = "val"
_NUMBERS = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens", "cost_usd")
_COUNTS = ("failures", "faults")


@dataclass(frozen=True, slots=True)
class EpisodeLine:
    """One finished episode.

    Attributes:
        step: The training step.
        purpose: ``train`` or ``val``.
        uid: verl's id of the group.
        group: Our id of the group, which is the same in every run with the same seed.
        sample: Index of the episode in its group, from 0.
        env: The environment.
        prompt: ``full`` or ``compact``.
        task: The task's id.
        kind: The task's kind.
        reward: The reward; ``None`` if the episode is not valid.
        valid: Whether there is a reward; an episode with a fault has none.
        success: Strict pass.
        fault: Role, kind and message of the fault, if there was one.
        turns: Actions that the policy took.
        tokens: Tokens that the policy sampled.
        length: Tokens after the prompt, of the policy and the environment.
        prompt_tokens: Tokens of the prompt.
        ended: Why the episode ended.
        seconds: Wall time of the episode.
        models: Model usage of this process since its previous episode, by role; see `models_used`.
        split: The split whose tasks were played; empty in a log of an earlier version.
        health: Signs that something spoils episodes, with their counts; see `simia_gym.evaluation.health`.
    """

    step: int
    purpose: str
    uid: str
    group: str
    sample: int
    env: str
    prompt: str
    task: str
    kind: str
    reward: float | None
    valid: bool
    success: bool
    fault: JsonObject | None
    turns: int
    tokens: int
    length: int
    prompt_tokens: int
    ended: str
    seconds: float
    models: JsonObject = field(default_factory=dict)
    split: str = ""
    health: JsonObject = field(default_factory=dict)


def training_job(
    suite: Suite, task: Task, *, seed: int, purpose: Purpose, step: int, index: int, sample: int
) -> tuple[Plan, Job]:
    """Plan and job of one episode of a training, so that seed, group and record are those of a rollout.

    All episodes of a group have the same seed and share a world. When a task comes again in a later step, its seed
    differs; in validation it is the same, so that two validations can be compared.

    Args:
        suite: The environment.
        task: The task.
        seed: The training's seed.
        purpose: ``train`` or ``val``.
        step: The training step.
        index: The row of the dataset.
        sample: Index of the episode in its group.
    """
    place = encode(["training", seed, purpose, step if purpose == "train" else None, index])
    plan = Plan(
        config=suite.config,
        domain_hash=suite.domain.hash,
        policy=f"{_POLICY}{step}",
        seed=int.from_bytes(hashlib.sha256(place).digest()[:4], "big"),
        policy_hash=f"{purpose}-{sample}",
    )
    return plan, make_job(plan, task, 0)


def models_used() -> JsonObject:
    """Usage of this process since the last call, by role; empty if no model was called."""
    found = {role: account.to_json() for role, account in sorted(accounts().drain().items())}
    return {role: {name: values[name] for name in (*_NUMBERS, *_COUNTS)} for role, values in found.items()}


def added_models(parts: Iterable[Mapping[str, Any]]) -> JsonObject:
    """The sum of several results of `models_used`, or of this function."""
    out: JsonObject = {}
    for part in parts:
        for role, values in part.items():
            sums = out.setdefault(role, {**dict.fromkeys(_NUMBERS, 0), **{name: {} for name in _COUNTS}})
            for name in _NUMBERS:
                sums[name] += values[name]
            for name in _COUNTS:
                sums[name] = dict(sorted((Counter(sums[name]) + Counter(values[name])).items()))
    return dict(sorted(out.items()))


class EpisodeLog:
    """Writes the episodes of one rollout worker, and on request whole records."""

    def __init__(self, run: Path | str, worker: int = 0, *, records: bool = False) -> None:
        self._run, self._worker, self._records = Path(run), worker, records
        self._files: dict[str, tuple[IO[bytes], BlobFile]] = {}

    def write(self, line: EpisodeLine) -> None:
        """Append a line.

        Raises:
            InputError: It cannot be written.
        """
        self._append(f"{EPISODES}/worker-{self._worker}", encode(asdict(line)) + b"\n")

    def record(self, env: str, plan: Plan, job: Job, episode: Episode) -> None:
        """Append the whole record, if records are written; each environment has its own files.

        Raises:
            InputError: It cannot be written, or the episode holds a value that is no JSON.
        """
        if self._records:
            name = slug(env.rpartition("/")[2])
            line = make_record(plan, job, episode).to_line(episode.ledger)
            self._append(f"{ROLLOUTS}/{name}.worker-{self._worker}", line, episode.ledger.blobs)

    def close(self) -> None:
        """Close the files."""
        for file, blobs in self._files.values():
            file.close()
            blobs.close()
        self._files.clear()

    def _append(self, name: str, line: bytes, blobs: Mapping[str, bytes] = MappingProxyType({})) -> None:
        if name not in self._files:
            opened = _open(self._run / name)
            self._files[name] = opened, BlobFile(blob_path(Path(opened.name)))
        file, beside = self._files[name]
        beside.add(blobs)
        append(file, line)


def _open(stem: Path) -> IO[bytes]:
    """Open and lock a file that no other process writes; an incomplete last line is removed."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    for number in range(1000):
        path = stem.with_name(f"{stem.name}{f'-{number}' if number else ''}.jsonl")
        file = path.open("ab", buffering=0)
        if take_lock(file.fileno(), path):
            data = path.read_bytes()
            if not data.endswith(b"\n"):
                os.truncate(path, data.rfind(b"\n") + 1)
            return file
        file.close()
    raise InputError("1000 other processes write there", where=str(stem), fix="Give another folder for the run.")


def forget_after(run: Path, step: int) -> None:
    """Remove the episodes after a step: the training resumes from there and will play them again.

    Raises:
        InputError: A line is broken; names file and line.
    """
    _keep(run, lambda value: int(value["step"]) <= step, BATCHES)
    _keep(run / EPISODES, lambda value: int(value["step"]) <= step)
    _keep(run / ROLLOUTS, lambda value: int(str(value["policy"]).removeprefix(_POLICY)) <= step)


def forget_validation(run: Path, step: int) -> None:
    """Remove the validation episodes of a step that will be played again.

    Raises:
        InputError: A line is broken; names file and line.
    """
    _keep(run / EPISODES, lambda value: (value["step"], value["purpose"]) != (step, VAL))
    _keep(run / ROLLOUTS, lambda value: (value["policy"], _purpose(value)) != (f"{_POLICY}{step}", VAL))


def _purpose(record: JsonObject) -> str:
    """``train`` or ``val``, which `training_job` stores in the record's policy hash."""
    return str(record["run"]["policy_hash"]).partition("-")[0]


def _keep(folder: Path, wanted: Callable[[JsonObject], bool], files: str = "*.jsonl") -> None:
    for path in sorted(folder.glob(files)):
        *lines, _ = path.read_bytes().split(b"\n")  # what has no end is torn
        kept = []
        for number, line in enumerate(lines, 1):
            try:
                kept += [line + b"\n"] if wanted(json.loads(line)) else []
            except (ValueError, TypeError, KeyError) as error:
                what = f"the line is broken ({error})"
                raise InputError(what, where=f"{path}:{number}", fix="Take the line out.") from None
        write_whole(path, b"".join(kept))
