"""The jobs of a rollout: one per episode, with a seed, a group and a key derived from content alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite
from simia_gym.common.json_encoding import encode
from simia_gym.domain.tasks import TaskList, task_blob
from simia_gym.errors import InputError, did_you_mean
from simia_gym.llm.settings import NO_MATTER
from simia_gym.state import freeze
from simia_gym.types import JsonObject, Task

_SEED_BITS = 32
_HINTS = 1000
"""So many of the first tasks are compared with an id that is of none."""


@dataclass(frozen=True, slots=True)
class Job:
    """One episode to run.

    Attributes:
        task: The task; the same for all members of a group, initial state included.
        member: Number of this episode among the episodes of the task, from 0.
        group: Id shared by the episodes of one group: task id and group number.
        seed: The episode's own seed.
        key: Content hash of settings, domain, task, policy, seed and member; equal keys mean the same episode.
    """

    task: Task
    member: int
    group: str
    seed: int
    key: str


class EpisodeSlot(NamedTuple):
    """The position of one episode in a plan: index of its task, and among the episodes of that task, both from 0."""

    task: int
    member: int


@dataclass(frozen=True, slots=True)
class MissingTask:
    """Takes the place of a job whose task, at an index from 0, could not be generated; with the error."""

    position: int
    error: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings that determine the episodes of a rollout.

    Attributes:
        config: The environment's settings.
        domain_hash: Content hash of the domain.
        policy: Name of the policy in the record.
        policy_hash: Content hash of the policy's source; ``None`` for policies of this package.
        forced: How `simia compare` forces the actions of a reference: ``open-loop`` or ``drift``.
        seed: Seed of the rollout; all episode seeds are derived from it.
        group: Episodes per group; all episodes of a group play the same task.
        episodes: Episodes in total; ``None`` for tasks x group. If it is not a multiple of ``group``, the last group is
            incomplete.
        chosen: Indices of the tasks to play, from 0, in this order; ``None`` for all. It is no part of the keys, so
            that a record of some tasks can be continued with all.
    """

    config: EnvConfig
    domain_hash: str
    policy: str
    seed: int = 0
    group: int = 1
    episodes: int | None = None
    policy_hash: str | None = None
    forced: str | None = None
    chosen: tuple[int, ...] | None = None
    config_json: JsonObject = field(init=False, repr=False, compare=False)
    """The environment's settings as written to every line of the record; read-only, because all lines share them."""

    def __post_init__(self) -> None:
        """Refuse invalid numbers."""
        object.__setattr__(self, "config_json", freeze(self.config.to_json()))
        for name, least in (("group", 1), ("episodes", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"{name} is {value}", where=f"--{name}", fix=f"Give at least {least}.")

    @property
    def torn(self) -> int:
        """Number of episodes of an incomplete last group; 0 if all groups are complete."""
        return 0 if self.episodes is None else self.episodes % self.group

    def total(self, tasks: int) -> int:
        """Number of jobs for a number of tasks."""
        several = tasks if self.chosen is None else len(self.chosen)
        return several * self.group if self.episodes is None else self.episodes

    def settings(self) -> JsonObject:
        """The settings that must be equal for a run to continue the record of another."""
        return {**self.config_json, "policy": self.policy, **self.run(), "domain_hash": self.domain_hash}

    def run(self) -> JsonObject:
        """The settings of the rollout that all lines of a record share, besides environment and policy."""
        shared: JsonObject = {"seed": self.seed, "group": self.group}
        more = {"policy_hash": self.policy_hash, "forced": self.forced}
        return shared | {name: value for name, value in more.items() if value is not None}


def episode_seed(seed: int, task_id: str, member: int) -> int:
    """Derive the seed of an episode, below 2**32; it is the same on every machine and Python version."""
    digest = hashlib.sha256(encode(["episode-seed", seed, task_id, member])).digest()
    return int.from_bytes(digest[: _SEED_BITS // 8], "big")


def world_group(seed: int, group: str) -> str:
    """Id of the episodes that share a world: the episodes of one group in rollouts with the same seed."""
    return f"{seed}/{group}"


def content_key(*parts: Any) -> str:
    """Hash JSON values into a key of 32 hex digits."""
    return hashlib.sha256(encode(list(parts))).hexdigest()[:32]


def slots_of(plan: Plan, tasks: int) -> Iterator[EpisodeSlot]:
    """List the episodes of a plan, in the order in which they start.

    The members of a group follow each other, so that groups finish early. If more than tasks x group episodes are
    requested, the tasks are repeated with new groups and continued member numbers.

    Raises:
        InputError: There are no tasks.
    """
    if not tasks:
        raise InputError("there is no task to run", where="--split", fix="Choose another split, or --generated N.")
    positions = range(tasks) if plan.chosen is None else plan.chosen
    for number in range(plan.total(tasks)):
        group, member = divmod(number, plan.group)
        again, place = divmod(group, len(positions))
        yield EpisodeSlot(positions[place], again * plan.group + member)


def choose(tasks: TaskList, ids: Sequence[str], limit: int | None = None) -> tuple[int, ...] | None:
    """The indices of the tasks to play: those with these ids, at most `limit` of them; ``None`` for all.

    Raises:
        InputError: An id is given twice, or is of no task of the split; or the limit is below 1.
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit is {limit}", where="limit", fix="Give at least 1.")
    if not ids:
        return None if limit is None or limit >= len(tasks) else tuple(range(limit))
    if len(set(ids)) < len(ids):
        raise InputError("a task is given twice", where="task", fix="Give each task once.")
    places: list[int] = []
    for one in ids:
        found = next((place for place in tasks.places_of(one) if _stands_at(tasks, place, one)), None)
        if found is None:
            some = range(min(len(tasks), _HINTS))
            known = [task.id for task in map(partial(_task, tasks), some) if isinstance(task, Task)]
            hint = did_you_mean(one, known)
            fix = f"{hint}Its tasks are {', '.join(known[:3])}, ...; those of others need --split, or --generated N."
            raise InputError(f"there is no task {one!r} among the {len(tasks)} of this split", where="task", fix=fix)
        places.append(found)
    return tuple(places)[:limit]


def _stands_at(tasks: TaskList, position: int, task_id: str) -> bool:
    """Whether the task of an id is at an index; a domain's task generator may raise or return anything."""
    try:
        return tasks.id_at(position) == task_id
    except KeyboardInterrupt:
        raise
    except BaseException:
        return False


def make_jobs(plan: Plan, tasks: Sequence[Task]) -> Iterator[Job | MissingTask]:
    """Make the jobs of `slots_of`; each group generates its task once, when its first job is needed."""
    for position, slots in groupby(slots_of(plan, len(tasks)), itemgetter(0)):
        task = _task(tasks, position)
        for _, member in slots:
            yield task if isinstance(task, MissingTask) else make_job(plan, task, member)


def make_job(plan: Plan, task: Task, member: int) -> Job:
    """Make the job of one episode."""
    played = [plan.policy, plan.policy_hash, plan.seed, member, *([] if plan.forced is None else [plan.forced])]
    return Job(
        task=task,
        member=member,
        group=f"{task.id}#{member // plan.group}",
        seed=episode_seed(plan.seed, task.id, member),
        key=content_key(1, plan.config_json, plan.domain_hash, _digest(task), *played),
    )


def job_at(plan: Plan, tasks: Sequence[Task], position: int, member: int) -> Job | MissingTask:
    """Make one of the jobs that `make_jobs` lists, given the parts of its `EpisodeSlot`."""
    task = _task(tasks, position)
    return task if isinstance(task, MissingTask) else make_job(plan, task, member)


def _task(tasks: Sequence[Task], position: int) -> Task | MissingTask:
    """The task at an index; a domain's task generator may raise or return anything."""
    try:
        task: object = tasks[position]
        if isinstance(task, Task) and isinstance(task.id, str):
            return task
        return MissingTask(position, f"it is {str(task)[:80]!r} and not a task")
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return MissingTask(position, f"{type(error).__name__}: {error}")


def _digest(task: Task) -> str:
    """The task's content hash; a placeholder if the task is not JSON, in which case its episode ends with a fault."""
    try:
        return task_blob(task)[0][:16]
    except Exception:
        return f"unsound {task.id}"


def plain_config(suite: Suite) -> EnvConfig:
    """The settings in normal form: settings equal to the domain's defaults are removed, so that records are equal."""
    config, domain = suite.config, suite.domain
    names = suite.model_names
    own = {**domain.config.options, **(domain.data.options if domain.data is not None else {})}
    return replace(
        config,
        simulator="auto" if suite.simulator_name == "world" else suite.simulator_name,
        model=names.get("simulator", config.model),
        roles={role: settings for role, settings in _named_roles(config.roles, names).items() if settings},
        user=None if config.user == domain.user else config.user,
        grammar=None if config.grammar == next(iter(domain.config.grammar)) else config.grammar,
        options={name: value for name, value in config.options.items() if encode(value) != encode(own.get(name))},
    )


def _named_roles(roles: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]) -> dict[str, JsonObject]:
    """Model settings by role, with the resolved model names; the simulator's name has a field of its own."""
    out = {
        role: {name: value for name, value in settings.items() if name not in NO_MATTER}
        for role, settings in roles.items()
    }
    for role, name in names.items():
        if role != "simulator" and name != names.get("simulator"):
            out.setdefault(role, {})["model"] = name
    return out
