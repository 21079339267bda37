"""What a record says of each task: its trials, one after another, and whose they are."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simia_gym.common.json_encoding import encode
from simia_gym.errors import InputError
from simia_gym.record.records import Record, read_records

_MOST_LETTERS = 40
"""Most letters of a setting in a label."""


@dataclass
class TaskTrials:
    """The trials of one task. Rates and means are over valid trials alone.

    Attributes:
        task: The task's id.
        kind: Its kind.
        valid: Trials with a reward.
        successes: Strict passes among them.
        reward: Sum of their rewards.
        turns: Sum of their turns.
        invalid: Trials that a fault left without a reward; they count in nothing else.
    """

    task: str
    kind: str
    valid: int = 0
    successes: int = 0
    reward: float = 0.0
    turns: int = 0
    invalid: int = 0

    def add(self, record: Record) -> None:
        """Count one trial."""
        if record.valid and record.reward is not None:
            self.valid += 1
            self.successes += record.success
            self.reward += record.reward
            self.turns += record.turns
        else:
            self.invalid += 1


@dataclass
class Series:
    """The trials of one policy in one environment from one seed.

    Attributes:
        label: What people call it; different for each of those that are looked at together.
        source: Where its episodes stand.
        policy: The policy's name.
        seed: The rollout's seed.
        config: The environment's settings, those at their default left out.
        run: What else all its episodes share, such as the size of groups and the hash of the policy.
        domain_hashes: Content hashes of the domain.
        tasks: Trials by task id.
        faults: How often each fault occurred, by ``role:kind``.
    """

    label: str
    source: str
    policy: str
    seed: int
    config: dict[str, Any]
    run: dict[str, Any]
    domain_hashes: set[str] = field(default_factory=set)
    tasks: dict[str, TaskTrials] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set, repr=False)

    def add(self, record: Record, where: str) -> None:
        """Count one episode.

        Raises:
            InputError: It has been counted already.
        """
        if record.key in self.keys:
            what = f"the episode of task {record.task!r}, member {record.member}, stands there twice"
            raise InputError(what, where=where, fix="Give each episode once.")
        self.keys.add(record.key)
        self.domain_hashes.add(record.domain_hash)
        trials = self.tasks.setdefault(record.task, TaskTrials(record.task, record.kind))
        trials.add(record)
        if not record.valid:
            fault = record.fault or {}
            self.faults[f"{fault['role']}:{fault['kind']}" if fault else "reward:invalid"] += 1

    @property
    def most_trials(self) -> int:
        """Most valid trials that a task has."""
        return max((one.valid for one in self.tasks.values()), default=0)


class Trials:
    """Collects the series of records, for each policy, settings and seed one.

    Args:
        source: Where the records stand.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._found: dict[bytes, Series] = {}

    def add(self, record: Record) -> None:
        """Count one episode.

        Raises:
            InputError: It has been counted already.
        """
        key = encode([record.policy, record.config, record.run])
        series = self._found.get(key)
        if series is None:
            seed, settings = int(record.run.get("seed", 0)), (dict(record.config), dict(record.run))
            series = self._found[key] = Series(record.policy, self._source, record.policy, seed, *settings)
        series.add(record, f"{self._source}:{record.line}")

    def series(self) -> list[Series]:
        """The series in the order in which they begin."""
        return [*self._found.values()]


def read_series(paths: Sequence[Path]) -> tuple[list[Series], list[str]]:
    """Read records; a file that holds several policies, settings or seeds gives several series.

    Args:
        paths: The files.

    Returns:
        The series in the order in which they begin, and what is worth a warning, a sentence each.

    Raises:
        InputError: A file is missing, broken, given twice, or without any episode.
    """
    found: list[Series] = []
    warnings = []
    for number, path in enumerate(paths):
        if path.resolve() in (other.resolve() for other in paths[:number]):
            raise InputError("is given twice", where=str(path), fix="Give each record once.")
        trials = Trials(str(path))
        for record in read_records(path, torn="skip"):
            trials.add(record)
        if not trials.series():
            raise InputError("there is no finished episode in it", where=str(path), fix="Give another record.")
        if _torn(path):
            warnings.append(f"{path}: the last line is torn, its writer was stopped; it is left out")
        found += trials.series()
    _label(found)
    return found, warnings


def _torn(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _label(series: Iterable[Series]) -> None:
    """Name each by its policy, and by what else it takes to tell them apart."""
    listed = list(series)
    for more in (_prompt, _simulator, _seed, _stem, _path):
        labels = {id(one): one.label for one in listed}
        for one in listed:
            same = [other for other in listed if labels[id(other)] == labels[id(one)]]
            if len({more(other) for other in same}) > 1:
                one.label = f"{labels[id(one)]}, {more(one)}"
    for same in _alike(listed):
        names = [name for name in sorted(set().union(*map(_settings, same))) if len({_told(o, name) for o in same}) > 1]
        for one in same:
            one.label = ", ".join([one.label, *(_told(one, name) for name in names)])
    for same in (same for same in _alike(listed) if len(same) > 1):
        for number, one in enumerate(same, 1):
            one.label = f"{one.label}, number {number}"


def _alike(series: Iterable[Series]) -> Iterable[list[Series]]:
    """Those with the same label together."""
    found: dict[str, list[Series]] = {}
    for one in series:
        found.setdefault(one.label, []).append(one)
    return found.values()


def _settings(one: Series) -> dict[str, Any]:
    return {**one.config, **one.run}


def _told(one: Series, name: str) -> str:
    """A setting as it stands in a label: short, and without quotes around a plain text."""
    settings = _settings(one)
    if name not in settings:
        return f"{name} as it comes"
    value = settings[name]
    text = value if isinstance(value, str) else encode(value).decode()
    return f"{name} {text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 3] + '...'}"


def _prompt(one: Series) -> str:
    return f"prompt {one.config.get('prompt', 'full')}"


def _simulator(one: Series) -> str:
    return f"simulator {one.config.get('simulator', 'world')}"


def _seed(one: Series) -> str:
    return f"seed {one.seed}"


def _stem(one: Series) -> str:
    return Path(one.source).name


def _path(one: Series) -> str:
    return one.source
