"""Gathers trajectories from experts, record files and data sets: of train tasks to learn from, of dev held out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from simia_gym.assembly.suite import Suite
from simia_gym.domain.domain import Domain
from simia_gym.domain.registration import env_ids
from simia_gym.errors import InputError
from simia_gym.rl.chat.trajectories import Trajectory, expert_play, training_suite, without_thinking
from simia_gym.rl.sft.files import is_record_file, read_trajectories, recorded_trajectories
from simia_gym.types import JsonObject

TRAJECTORIES = 2_000
"""Default number of expert trajectories."""
HELD_OUT = 64
"""Default number of held-out trajectories, or as many as there are tasks to hold out."""
_SPARE = 2
"""Dev tasks for each held-out trajectory, since experts may fail."""


@dataclass
class Gathered:
    """Trajectories, and counts of those left out.

    Attributes:
        train: Trajectories for training.
        held_out: Trajectories for evaluation, of dev tasks, or of the last tasks of a file that has none.
        below: Number of trajectories whose reward was too low.
        faults: Number of episodes with a fault.
    """

    train: list[Trajectory] = field(default_factory=list)
    held_out: list[Trajectory] = field(default_factory=list)
    below: int = 0
    faults: int = 0

    @property
    def kinds(self) -> dict[str, int]:
        """Number of training trajectories by environment and kind of task."""
        return dict(sorted(Counter(f"{item.env}/{item.kind}" for item in self.train).items()))

    def remove_thinking(self) -> int:
        """Remove the policy's thinking from all trajectories; return from how many."""
        before = [*self.train, *self.held_out]
        self.train, self.held_out = ([without_thinking(item) for item in part] for part in (self.train, self.held_out))
        return sum(one is not other for one, other in zip(before, [*self.train, *self.held_out], strict=True))


def from_experts(
    envs: Sequence[str],
    number: int | None,
    *,
    held_out: int | None = 0,
    prompt: str = "full",
    seed: int = 0,
    least: float = 1.0,
    expert: str = "expert",
    on_one: Callable[[], None] = lambda: None,
) -> Gathered:
    """Play tasks with the environments' experts: fixed tasks first, then generated ones; dev tasks are held out.

    Args:
        envs: Ids of environments, or folders of domains; each contributes the same number.
        number: Number of training trajectories over all environments; ``None`` for `TRAJECTORIES`, or as many as there
            are if a domain has no generator.
        held_out: Number of held-out trajectories, of the same tasks in every run. ``None`` for `HELD_OUT`, or as many
            as there are if a domain has no generator; with 0 a domain without a generator learns from all of train.
        prompt: ``full`` or ``compact``.
        seed: Seed of the episodes; it decides the experts' wording.
        least: The least reward of a trajectory to learn from.
        expert: Name of the domains' policy that plays.
        on_one: Called after each episode.

    Raises:
        InputError: An environment has no expert, or no generator and too few tasks.
    """
    if number is not None and number < 1:
        raise InputError(f"trajectories is {number}", where="trajectories", fix="Use 1 or more.")
    found = Gathered()
    for place, env in enumerate(envs):
        train, looked_at = (
            _part(default if asked is None else asked, place, len(envs))
            for asked, default in ((number, TRAJECTORIES), (held_out, HELD_OUT))
        )
        suite = training_suite(env, generated=4 * train + 100, prompt=prompt, without_dev=held_out != 0)
        domain = suite.domain
        if domain.generator is None and held_out is None:
            looked_at = min(looked_at, len(domain.dev_of_train))

        def play(suite: Suite, wanted: int) -> list[Trajectory]:
            """A number of trajectories; if an episode fails, one of a further task replaces it."""
            kept: list[Trajectory] = []
            for done in expert_play(suite, range(len(suite.tasks)), seed=seed, least=least, policy=expert):
                on_one()
                if isinstance(done, Trajectory):
                    kept.append(done)
                elif done == "fault":
                    found.faults += 1
                else:
                    found.below += 1
                if len(kept) == wanted:
                    break
            return kept

        held: list[Trajectory] = []
        if looked_at:
            held = play(training_suite(env, generated=_SPARE * looked_at, prompt=prompt, split="dev"), looked_at)
        kept = play(suite, train) if train else []
        least_many = min(train, 1) if domain.generator is None and number is None else train
        if len(held) < looked_at or len(kept) < least_many:
            few = f"{len(kept)} trajectories to learn from and {len(held)} held out"
            what = f"its expert gives {few}, with a reward of at least {least:g}"
            raise InputError(what, where=env, fix="Ask for fewer.")
        found.train += kept
        found.held_out += held
    return found


def _part(number: int, place: int, parts: int) -> int:
    return number // parts + (place < number % parts)


def from_files(
    paths: Iterable[Path],
    *,
    held_out: int | None = 0,
    least: float = 1.0,
    prompt: str = "full",
    envs: Sequence[str] = (),
) -> Gathered:
    """Read trajectories from record files of `simia rollout` and from data sets.

    Args:
        paths: The files.
        held_out: Number of held-out trajectories: those of `dev_of_train`, and if there are none, all those of the last
            tasks. ``None`` for `HELD_OUT`, then of a tenth of the tasks at most. A row without a task is a task of its
            own. With 0 all are learned from.
        least: The least reward of a trajectory to learn from. Rows without a reward count as 1.
        prompt: Which system message a row without one gets: ``full`` or ``compact``.
        envs: Environments that rows may name besides the installed ones; if there is one, rows that name no environment
            belong to it.

    Raises:
        InputError: A file cannot be read, or no conversation has enough reward.
    """
    found = Gathered()
    domain = _domains(envs, prompt)

    def system(name: str) -> str | None:
        found = domain(name)
        return None if found is None else found.prompts[prompt]

    def tools(name: str) -> Sequence[JsonObject]:
        found = domain(name)
        return () if found is None else found.tools

    kept: list[Trajectory] = []
    paths = list(paths)
    for path in paths:
        rows = read_trajectories(path, system=system, prompt=prompt, tools=tools)
        for item in recorded_trajectories(path) if is_record_file(path) else rows:
            if item is None:
                found.faults += 1
            elif item.reward >= least or item.success:
                (found.held_out if item.split == "dev" and held_out != 0 else kept).append(item)
            else:
                found.below += 1
    if not kept:
        names = ", ".join(map(str, paths))
        raise InputError("no conversation in it has enough reward", where=names, fix="Lower --least-reward.")
    wanted = HELD_OUT if held_out is None else held_out
    if found.held_out:
        found.train, found.held_out = kept, found.held_out[:wanted]
        return found
    task_of = [(item.env, item.task, 0 if item.task else place) for place, item in enumerate(kept)]
    sizes = Counter(task_of)
    most = len(sizes) - 1 if held_out is not None else len(sizes) // 10
    looked_at: set[tuple[str, str, int]] = set()
    for task in list(sizes)[::-1][:most]:
        if wanted <= 0:
            break
        looked_at.add(task)
        wanted -= sizes[task]
    for item, task in zip(kept, task_of, strict=True):
        (found.held_out if task in looked_at else found.train).append(replace(item, split="train"))
    return found


def _domains(envs: Sequence[str], prompt: str) -> Callable[[str], Domain | None]:
    """A function from an environment's id, short name or domain name to its domain."""

    def domain_of(env: str) -> Domain:
        return training_suite(env, generated=1, prompt=prompt).domain

    given = {env: domain_of(env) for env in envs}

    @cache
    def of(name: str) -> Domain | None:
        if not name and len(given) == 1:
            return next(iter(given.values()))
        for env, domain in given.items():
            if name in (env, domain.name):
                return domain
        for env in env_ids():
            if name in (env, env.removeprefix("simia/").removesuffix("-v0")):
                return domain_of(env)
        return None

    return of
