"""Counts the trials of each task from records, grouped by policy, settings and seed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simia_gym.common.json_encoding import encode
from simia_gym.errors import InputError
from simia_gym.evaluation.health import Health, signs_of
from simia_gym.record.records import Record, read_records
from simia_gym.rollout.summary import Tally, fault_name, score_groups

_MOST_LETTERS = 40
"""Maximum length of one setting in a label, in characters."""


@dataclass
class TaskTrials(Tally):
    """The trials of one task.

    Attributes:
        kind: The task's kind.
        groups: The values of its options by which scores are shown.
        reward_squares: Sum of squared differences between the valid trials' rewards and their mean.
        turns_squares: The same of their turns.
    """

    kind: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    reward_squares: float = 0.0
    turns_squares: float = 0.0

    def add(self, record: Record) -> None:
        """Count one episode."""
        if record.valid and record.reward is not None and self.valid:
            # The sum grows by the square of the distance to the mean so far; equal values add exactly nothing.
            share = self.valid / (self.valid + 1)
            self.reward_squares += share * (record.reward - (self.mean_reward or 0.0)) ** 2
            self.turns_squares += share * (record.turns - self.turns / self.valid) ** 2
        super().add(record)

    @property
    def success_squares(self) -> float:
        """The same of their successes, each 0 or 1."""
        return self.successes * (self.valid - self.successes) / self.valid if self.valid else 0.0


@dataclass
class Series:
    """The trials of one policy in one environment from one seed.

    Attributes:
        label: Name for display; unique within a report.
        source: Path of the record file; empty if there is none.
        config: The environment's settings that differ from their defaults.
        run: The rollout's settings, such as the group size and the policy's hash.
        tasks: Trials by task id.
        faults: Number of faults by ``role:kind``.
        health: Signs that something spoils episodes.
        keys: Keys of the episodes counted so far.
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
    health: Health = field(default_factory=Health)
    keys: set[str] = field(default_factory=set, repr=False)

    def add(self, record: Record) -> None:
        """Count one episode.

        Raises:
            InputError: The episode has been counted already.
        """
        if record.key in self.keys:
            what = f"the episode of task {record.task!r}, member {record.member}, occurs twice"
            raise InputError(what, where=f"{self.source}:{record.line}", fix="Give each episode once.")
        self.keys.add(record.key)
        self.domain_hashes.add(record.domain_hash)
        self.tasks.setdefault(record.task, TaskTrials(kind=record.kind, groups=score_groups(record))).add(record)
        if not record.valid:
            self.faults[fault_name(record)] += 1
        valid, group = record.valid and record.reward is not None, record.run.get("group", 1)
        if not isinstance(group, int):
            fix = "Write the record again with `simia rollout`."
            raise InputError(f"its group is {group!r}", where=f"{self.source}:{record.line}", fix=fix)
        try:
            signs = signs_of(record.events, ended=record.ended, valid=valid, success=record.success)
        except (KeyError, TypeError, AttributeError) as error:
            what = f"an event is not as records have it ({type(error).__name__}: {error})"
            raise InputError(
                what, where=f"{self.source}:{record.line}", fix="Take a record as it was written."
            ) from None
        self.health.add(
            signs,
            turns=record.turns,
            reward=record.reward if valid else None,
            example={"task": record.task, "member": record.member, "seed": record.seed},
            group=(record.group, group),
        )

    @property
    def most_trials(self) -> int:
        """The largest number of valid trials of a task."""
        return max((one.valid for one in self.tasks.values()), default=0)


def count_record(record: Record, found: dict[bytes, Series], source: str) -> None:
    """Count one episode in the series of its policy, settings and seed, which the first one begins.

    Raises:
        InputError: The episode has been counted already.
    """
    key = encode([record.policy, record.config, record.run])
    if key not in found:
        seed, config, run = int(record.run.get("seed", 0)), dict(record.config), dict(record.run)
        found[key] = Series(record.policy, source, record.policy, seed, config, run)
    found[key].add(record)


def read_series(paths: Sequence[Path]) -> tuple[list[Series], list[str]]:
    """Read record files; a file with several policies, settings or seeds gives several series.

    Returns:
        The series in the order of their first record, and a list of warnings.

    Raises:
        InputError: A file is missing, malformed, given twice, or without any finished episode.
    """
    found: list[Series] = []
    warnings = []
    for number, path in enumerate(paths):
        if path.resolve() in (other.resolve() for other in paths[:number]):
            raise InputError("is given twice", where=str(path), fix="Give each record once.")
        series: dict[bytes, Series] = {}
        for record in read_records(path, torn="skip"):
            count_record(record, series, str(path))
        if not series:
            raise InputError("there is no finished episode in it", where=str(path), fix="Give another record.")
        if _torn(path):
            warnings.append(f"{path}: the last line is torn, its writer was stopped; it is left out")
        found += series.values()
    _label(found)
    return found, warnings


def _torn(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _label(series: Sequence[Series]) -> None:
    """Label each series with its policy, and with the settings that distinguish it from the others."""
    facts = {id(one): _facts(one) for one in series}
    settings = sorted({name for one in facts.values() for name in one})
    for names in (["prompt"], ["simulator"], ["seed"], ["file"], ["path"], settings):
        for same in _alike(series):
            for name in names:
                values = [facts[id(one)].get(name, f"{name} by default") for one in same]
                for one, fact in zip(same, values, strict=True):
                    one.label += f", {fact}" if len(set(values)) > 1 else ""
    for same in _alike(series):
        for number, one in enumerate(same, 1):
            one.label += f", number {number}" if len(same) > 1 else ""


def _alike(series: Sequence[Series]) -> list[list[Series]]:
    """Group the series by label."""
    found: dict[str, list[Series]] = {}
    for one in series:
        found.setdefault(one.label, []).append(one)
    return [*found.values()]


def _facts(one: Series) -> dict[str, str]:
    """The settings that a label may name, as short texts."""
    settings = {"prompt": "full", "simulator": "world", **one.config, **one.run, "seed": one.seed}
    facts = {}
    for name, value in settings.items():
        text = value if isinstance(value, str) else encode(value).decode()
        facts[name] = f"{name} {text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 3] + '...'}"
    return {**facts, "file": Path(one.source).name, "path": one.source}
