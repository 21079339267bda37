"""What a training has played, one line for each finished episode, written by the processes that play.

The lines are what progress and metrics are made of: verl knows rewards and lengths, and nothing of environments, kinds
of tasks and faults. Where they are asked for, the whole records stand beside them as ``simia rollout`` writes them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from simia_gym.assembly.suite import Suite
from simia_gym.common.json_encoding import encode
from simia_gym.common.locks import take_lock
from simia_gym.domain.naming import slug
from simia_gym.episode import Episode
from simia_gym.errors import InputError
from simia_gym.rollout.jobs import Job, Plan, make_job
from simia_gym.rollout.pool import make_record
from simia_gym.types import JsonObject, Task

Purpose = Literal["train", "val"]

EPISODES, ROLLOUTS = "episodes", "rollouts"
"""The folders in that of the run."""
_POLICY = "grpo@"
TRAIN: Purpose = "train"
VAL: Purpose = "val"


@dataclass(frozen=True, slots=True)
class EpisodeLine:
    """One finished episode.

    Attributes:
        step: The training's step.
        purpose: ``train`` or ``val``.
        uid: verl's id of the group.
        group: Our own, which is the same in every run with the same seed.
        sample: Number of the episode in its group, from 0.
        env: The environment.
        prompt: ``full`` or ``compact``.
        task: The task's id.
        kind: The task's kind.
        reward: The reward; ``None`` where the episode is not valid.
        valid: Whether the reward means anything.
        success: Strict pass.
        fault: Role, kind and message of the fault, where there was one.
        turns: Actions that the policy took.
        tokens: Tokens that the policy sampled.
        length: Tokens after the prompt, the environment's too.
        prompt_tokens: Tokens of the prompt.
        ended: Why the episode ended.
        seconds: How long it took.
        models: What the process's models took since its episode before, by role, as `simia_gym.rl.grpo.models_used`
            gives it.
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


_FIELDS = tuple(item.name for item in dataclasses.fields(EpisodeLine))


def training_job(
    suite: Suite, task: Task, *, seed: int, purpose: Purpose, step: int, index: int, sample: int
) -> tuple[Plan, Job]:
    """What one episode of a training is, as a rollout of its own: so seed, group and record are those of a rollout.

    All episodes of a group have the same seed and share a world. A task that comes again in a later step is played with
    another seed; in validation with the same, so that two validations can be compared.

    Args:
        suite: The environment.
        task: What it is about.
        seed: The training's seed.
        purpose: What it is played for.
        step: The training's step.
        index: The row of the dataset.
        sample: Number of the episode in its group.
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


class EpisodeLog:
    """Where one process writes what it has played.

    Args:
        run: The folder of the run.
        worker: Number of the process among those that play.
        records: Whether whole records are written, too.
    """

    def __init__(self, run: Path | str, worker: int = 0, *, records: bool = False) -> None:
        self._run, self._worker, self._records = Path(run), worker, records
        self._files: dict[str, IO[bytes]] = {}

    def write(self, line: EpisodeLine) -> None:
        """Append a line.

        Raises:
            InputError: The disk refuses it.
        """
        values = {name: getattr(line, name) for name in _FIELDS}
        self._append(f"{EPISODES}/worker-{self._worker}", encode(values) + b"\n")

    def record(self, env: str, plan: Plan, job: Job, episode: Episode) -> None:
        """Append the whole record, where records are written.

        Args:
            env: The environment, as the run names it; each has files of its own.
            plan: What was played, as `training_job` gives it.
            job: From there, too.
            episode: The episode.

        Raises:
            InputError: The disk refuses it, or the episode holds what is no JSON.
        """
        if self._records:
            name = slug(env.rpartition("/")[2])
            line = make_record(plan, job, episode).to_line(episode.ledger.encoded)
            self._append(f"{ROLLOUTS}/{name}.worker-{self._worker}", line)

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _append(self, name: str, line: bytes) -> None:
        try:
            if name not in self._files:
                self._files[name] = _open(self._run / name)
            rest = memoryview(line)
            while rest:
                rest = rest[self._files[name].write(rest) :]
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror})", where=str(self._run), fix="Make room.") from error


def _open(stem: Path) -> IO[bytes]:
    """Open a file that nobody else is writing to; what a killed writer left of its last line is cut off."""
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
    raise InputError("a thousand others are writing there", where=str(stem), fix="Give another folder for the run.")


def read_episodes(run: Path | str) -> Iterator[EpisodeLine]:
    """Read what a training has played so far, file by file; a last line that is still being written is left out.

    Args:
        run: The folder of the run.

    Raises:
        InputError: A line is broken; names file and line.
    """
    for path in sorted((Path(run) / EPISODES).glob("*.jsonl")):
        for number, raw in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
            value = _decoded(raw, f"{path}:{number}")
            if set(value) != set(_FIELDS):
                raise InputError("is no line of a training", where=f"{path}:{number}", fix="Take the line out.")
            yield EpisodeLine(**value)


def forget_after(run: Path | str, step: int) -> None:
    """Take out what was played after a step, because the training goes on from there and will play it again.

    Args:
        run: The folder of the run.
        step: The step of the checkpoint.

    Raises:
        InputError: A line is broken; names file and line.
    """
    _keep(Path(run) / EPISODES, lambda value: int(value["step"]) <= step)
    _keep(Path(run) / ROLLOUTS, lambda value: int(str(value["policy"]).removeprefix(_POLICY)) <= step)


def forget_validation(run: Path | str, step: int) -> None:
    """Take out the validation episodes of a step that are going to be played again.

    Args:
        run: The folder of the run.
        step: The step.

    Raises:
        InputError: A line is broken; names file and line.
    """
    _keep(Path(run) / EPISODES, lambda value: (value["step"], value["purpose"]) != (step, VAL))
    _keep(Path(run) / ROLLOUTS, lambda value: (value["policy"], _purpose(value)) != (f"{_POLICY}{step}", VAL))


def _purpose(record: JsonObject) -> str:
    """What a record was played for, as `training_job` has written it down."""
    return str(record["run"]["policy_hash"]).partition("-")[0]


def _keep(folder: Path, wanted: Callable[[JsonObject], bool]) -> None:
    for path in sorted(folder.glob("*.jsonl")):
        lines = path.read_bytes().split(b"\n")[:-1]
        kept = [raw for number, raw in enumerate(lines, 1) if wanted(_decoded(raw, f"{path}:{number}"))]
        partial = path.with_suffix(".partial")
        partial.write_bytes(b"".join(raw + b"\n" for raw in kept))
        partial.replace(path)


def _decoded(raw: bytes, where: str) -> JsonObject:
    try:
        value: Any = json.loads(raw)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise InputError("the line is broken", where=where, fix="Take the line out.")
    return value
