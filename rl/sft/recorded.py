"""Trajectories from record files of `simia rollout`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from simia_gym.assembly.settings import EnvConfig
from simia_gym.domain.domain import Domain
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import CUSTOM, domain_path
from simia_gym.errors import InputError
from simia_gym.record.records import BEGINNING, read_records
from simia_gym.rl.chat.trajectories import Trajectory, conversation


def is_record_file(path: Path | str) -> bool:
    """Whether a file is a record file of `simia rollout`, by its first bytes."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(BEGINNING)) == BEGINNING
    except OSError:
        return False


def recorded_trajectories(path: Path | str) -> Iterator[Trajectory | None]:
    """Read the conversations of a record file.

    Yields:
        The conversation; ``None`` for an episode that a fault left without a verdict.

    Raises:
        InputError: The file is broken, contains test tasks, or was written with another version of the domain.
    """
    domains: dict[str, tuple[EnvConfig, Domain]] = {}
    for record in read_records(path, torn="skip"):
        if record.split == "test":
            fix = "Train on train tasks; roll out with --split train."
            raise InputError(f"task {record.task} is a test task", where=f"{path}:{record.line}", fix=fix)
        if not record.valid or record.reward is None:
            yield None
            continue
        key = repr(sorted(record.config.items()))
        if key not in domains:
            config = EnvConfig.from_json(record.config)
            folder = Path(config.domain or ".") if config.env == CUSTOM else domain_path(config.env)
            domains[key] = (config, load_domain(folder, config.options, config.data))
        config, domain = domains[key]
        if domain.hash != record.domain_hash:
            fix = "Use the version of the domain that wrote it."
            raise InputError("the domain differs from the record's", where=f"{path}:{record.line}", fix=fix)
        yield Trajectory(
            messages=conversation(record.events, domain, config.prompt),
            env=config.env,
            task=record.task,
            kind=record.kind,
            split=record.split,
            seed=record.seed,
            prompt=config.prompt,
            source=record.policy,
            reward=float(record.reward),
            success=record.success,
        )
