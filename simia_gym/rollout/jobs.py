"""What a rollout has to do: one job per episode, each with a seed, a group and a key that follow from content alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite
from simia_gym.common.json_encoding import encode
from simia_gym.domain.tasks import task_hash
from simia_gym.errors import InputError
from simia_gym.llm.settings import NO_MATTER
from simia_gym.state import freeze
from simia_gym.types import JsonObject, Task

_SEED_BITS = 32


@dataclass(frozen=True, slots=True)
class Job:
    """One episode to run.

    Attributes:
        task: What it is about; equal for all members of a group, the initial state included.
        member: Number of this episode among those of the same task, from 0.
        group: Id that the episodes of one group share: task id and number of the group.
        seed: The episode's own seed.
        key: Content hash; equal keys mean that the same thing would be run.
    """

    task: Task
    member: int
    group: str
    seed: int
    key: str


@dataclass(frozen=True, slots=True)
class Unmade:
    """An episode that cannot be run because its task could not even be made.

    Attributes:
        position: The task's place in the list of tasks, from 0.
        error: What the source of tasks raised.
    """

    position: int
    error: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of a rollout that decide what its episodes are.

    Attributes:
        config: The environment.
        domain_hash: Content hash of the domain it was loaded from.
        policy: Name of the policy, as it stands in the record.
        policy_hash: Content hash of the policy's source, where it is no part of this package.
        seed: Seed that all episode seeds are derived from.
        group: Episodes per task.
        episodes: Jobs in total; ``None`` means tasks x group. The last group is torn where it is no multiple of
            ``group``.
    """

    config: EnvConfig
    domain_hash: str
    policy: str
    seed: int = 0
    group: int = 1
    episodes: int | None = None
    policy_hash: str | None = None
    config_json: JsonObject = field(init=False, repr=False, compare=False)
    """The environment as it stands in every line of the record; read-only, since all of them share it."""

    def __post_init__(self) -> None:
        """Refuse numbers that make no rollout."""
        object.__setattr__(self, "config_json", freeze(self.config.to_json()))
        for name, least in (("group", 1), ("episodes", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"{name} is {value}", where=f"--{name}", fix=f"Give at least {least}.")

    @property
    def torn(self) -> int:
        """How many episodes the last group has where it is not whole, else 0."""
        return 0 if self.episodes is None else self.episodes % self.group

    def total(self, tasks: int) -> int:
        """Number of jobs over so many tasks."""
        return tasks * self.group if self.episodes is None else self.episodes

    def settings(self) -> JsonObject:
        """Everything that must be equal for one file to hold the episodes of two runs."""
        return {
            **self.config_json,
            "policy": self.policy,
            **self.run(),
            "domain_hash": self.domain_hash,
        }

    def run(self) -> JsonObject:
        """What besides environment and policy all lines of a record share."""
        shared: JsonObject = {"seed": self.seed, "group": self.group}
        return shared if self.policy_hash is None else {**shared, "policy_hash": self.policy_hash}


def episode_seed(seed: int, task_id: str, member: int) -> int:
    """Derive one episode's seed, equal on every machine and in every Python.

    Args:
        seed: The rollout's seed.
        task_id: The task.
        member: Number of the episode among those of the task.

    Returns:
        A number below 2**32.
    """
    digest = hashlib.sha256(encode(["episode-seed", seed, task_id, member])).digest()
    return int.from_bytes(digest[: _SEED_BITS // 8], "big")


def world_group(seed: int, group: str) -> str:
    """Name the episodes that share a world: those of one group, in rollouts of the same seed."""
    return f"{seed}/{group}"


def content_key(*parts: Any) -> str:
    """Hash JSON values into a key of 32 hex digits."""
    return hashlib.sha256(encode(list(parts))).hexdigest()[:32]


def make_jobs(plan: Plan, tasks: Sequence[Task]) -> Iterator[Job | Unmade]:
    """List the jobs in the order in which they are started.

    All members of a task's group follow each other, so that groups are finished early. When more episodes are wanted
    than tasks x group, the tasks are gone through again and the member numbers go on; every round is a new group.

    Args:
        plan: The settings.
        tasks: The tasks; drawn one at a time, so that generated tasks cost nothing before their turn.

    Yields:
        One job per episode; where the source of tasks fails, what takes its place.

    Raises:
        InputError: There is no task.
    """
    if not tasks:
        raise InputError("there is no task to run", where="--split", fix="Choose another split, or --generated N.")
    remaining = plan.total(len(tasks))
    first = 0
    while remaining:
        for position in range(len(tasks)):
            task, error = _task(tasks, position)
            digest = None if task is None else _digest(task)
            for member in range(first, first + plan.group):
                if not remaining:
                    return
                remaining -= 1
                if task is None:
                    yield Unmade(position, error)
                    continue
                yield make_job(plan, task, member, digest)
        first += plan.group


def make_job(plan: Plan, task: Task, member: int, digest: str | None = None) -> Job:
    """Everything that follows from the settings, the task and the number of the episode.

    Args:
        plan: The settings.
        task: The task.
        member: Number of the episode among those of the task.
        digest: The task's content hash, where it is known.

    Returns:
        The job.
    """
    content = digest or _digest(task)
    played = [plan.policy, plan.policy_hash, plan.seed, member]
    return Job(
        task=task,
        member=member,
        group=f"{task.id}#{member // plan.group}",
        seed=episode_seed(plan.seed, task.id, member),
        key=content_key(1, plan.config_json, plan.domain_hash, content, *played),
    )


def job_at(plan: Plan, tasks: Sequence[Task], position: int, member: int) -> Job | Unmade:
    """One job of those that `make_jobs` lists.

    Args:
        plan: The settings.
        tasks: The tasks.
        position: The task's place in them.
        member: Number of the episode among those of the task.
    """
    task, error = _task(tasks, position)
    return Unmade(position, error) if task is None else make_job(plan, task, member)


def _task(tasks: Sequence[Task], position: int) -> tuple[Task | None, str]:
    """One task, or why there is none: generators are other people's code."""
    try:
        task: object = tasks[position]
        if not isinstance(task, Task) or not isinstance(task.id, str):
            return None, f"it is {str(task)[:80]!r} and not a task"
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return None, f"{type(error).__name__}: {error}"
    return task, ""


def _digest(task: Task) -> str:
    """The task's content hash; of one that holds what is no JSON, a stand-in: its episode becomes a fault."""
    try:
        return task_hash(task)
    except Exception:
        return f"unsound {task.id}"


def plain_config(suite: Suite) -> EnvConfig:
    """The settings without those that were typed and are the domain's own anyway: such a record is the same record."""
    config, domain = suite.config, suite.domain
    names = suite.model_names
    own = {**domain.config.options, **(domain.data.options if domain.data is not None else {})}
    return replace(
        config,
        simulator="auto" if suite.simulator_name == "world" else suite.simulator_name,
        model=names.get("simulator", config.model),
        roles={role: settings for role, settings in _named_roles(config.roles, names).items() if settings},
        user=None if config.user == domain.user else config.user,
        options={name: value for name, value in config.options.items() if encode(value) != encode(own.get(name))},
    )


def _named_roles(roles: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> dict[str, JsonObject]:
    """The settings of the models with their names, wherever these came from; the simulator's stands by itself."""
    out = {
        role: {name: value for name, value in settings.items() if name not in NO_MATTER}
        for role, settings in roles.items()
    }
    for role, name in names.items():
        if role != "simulator" and name != names.get("simulator"):
            out.setdefault(role, {})["model"] = name
    return out
