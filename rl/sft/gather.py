"""Gathers trajectories from experts, record files and data sets, of tasks of the train split only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.domain.domain import Domain
from simia_gym.domain.registration import env_ids
from simia_gym.errors import InputError
from simia_gym.rl.chat.trajectories import Trajectory, expert_play, training_suite, without_thinking
from simia_gym.rl.sft.files import is_record_file, read_trajectories, recorded_trajectories

TRAJECTORIES = 2_000
"""Default number of expert trajectories."""
HELD_OUT = 64
"""Default number of held-out trajectories; without a generator, of a tenth of the tasks at most."""
_SPARE = 2
"""Tasks that are reserved for each held-out trajectory, since experts may fail."""


@dataclass
class Gathered:
    """Trajectories, and counts of those left out.

    Attributes:
        train: Trajectories for training.
        held_out: Trajectories for evaluation, of other tasks than ``train``.
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
    """Play tasks of the train split with the environments' experts: fixed tasks first, then generated ones.

    Args:
        envs: Ids of environments, or folders of domains; each contributes the same number.
        number: Number of training trajectories over all environments; ``None`` for `TRAJECTORIES`, or as many as there
            are if a domain has no generator.
        held_out: Number of held-out trajectories, of the same tasks in every run. ``None`` for `HELD_OUT`, or of a
            tenth of the tasks if a domain has no generator.
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
        suite = training_suite(env, generated=1, prompt=prompt)
        train, looked_at = (
            _part(default if asked is None else asked, place, len(envs))
            for asked, default in ((number, TRAJECTORIES), (held_out, HELD_OUT))
        )
        runs_out = suite.domain.generator is None
        if runs_out and held_out is None:
            looked_at = min(looked_at, len(suite.tasks) // 10)
        least_many = min(train, 1) if runs_out and number is None else train
        _one(suite, env, found, train, looked_at, least_many, seed=seed, least=least, expert=expert, on_one=on_one)
    return found


def _part(number: int, place: int, parts: int) -> int:
    return number // parts + (place < number % parts)


def _one(
    suite: Suite,
    env: str,
    found: Gathered,
    train: int,
    held_out: int,
    least_many: int,
    *,
    seed: int,
    least: float,
    expert: str,
    on_one: Callable[[], None],
) -> None:
    """Play one environment; if an episode fails, a further generated task replaces it.

    The held-out tasks are always the first generated ones, and no training learns from them: a later training that
    continues with this policy evaluates on tasks that the policy has never seen.
    """
    fixed = len(suite.tasks) - suite.config.generated
    looked_at: Sequence[int] = range(fixed)[::-1]
    learned: Sequence[int] = ()
    if suite.domain.generator is not None:
        kept_apart, most = fixed + _SPARE * held_out, fixed + _SPARE * held_out + 4 * train + 100
        suite = load_suite(replace(suite.config, generated=most - fixed))
        looked_at, learned = range(fixed, kept_apart), (*range(fixed), *range(kept_apart, most))

    def play(tasks: Sequence[int], wanted: int) -> tuple[list[Trajectory], int]:
        """A number of trajectories, and how many tasks were played for them."""
        kept: list[Trajectory] = []
        tried = 0
        for done in expert_play(suite, tasks, seed=seed, least=least, policy=expert) if wanted else ():
            on_one()
            tried += 1
            if isinstance(done, Trajectory):
                kept.append(done)
            elif done == "fault":
                found.faults += 1
            else:
                found.below += 1
            if len(kept) == wanted:
                break
        return kept, tried

    held, tried = play(looked_at, held_out)
    if suite.domain.generator is None:
        learned = range(fixed - tried)
    kept, _ = play(learned, train)
    if len(held) < held_out or len(kept) < least_many:
        what = f"its expert gives {len(held) + len(kept)} trajectories with a reward of at least {least:g}"
        raise InputError(what, where=env, fix="Ask for fewer.")
    found.train += kept
    found.held_out += held


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
        held_out: Number of held-out trajectories: all those of the last tasks. ``None`` for `HELD_OUT`, of a tenth of
            the tasks at most. A row without a task is a task of its own.
        least: The least reward of a trajectory to learn from. Rows without a reward count as 1.
        prompt: Which system message a row without one gets: ``full`` or ``compact``.
        envs: Environments that rows may name besides the installed ones; if there is one, rows that name no environment
            belong to it.

    Raises:
        InputError: A file cannot be read, or no conversation has enough reward.
    """
    found = Gathered()
    system = _system_messages(envs, prompt)
    kept: list[Trajectory] = []
    paths = list(paths)
    for path in paths:
        for item in _read(path, system, prompt):
            if item is None:
                found.faults += 1
            elif item.reward >= least or item.success:
                kept.append(item)
            else:
                found.below += 1
    if not kept:
        names = ", ".join(map(str, paths))
        raise InputError("no conversation in it has enough reward", where=names, fix="Lower --least-reward.")
    task_of = [(item.env, item.task, 0 if item.task else place) for place, item in enumerate(kept)]
    sizes = Counter(task_of)
    most = len(sizes) - 1 if held_out is not None else len(sizes) // 10
    looked_at: set[tuple[str, str, int]] = set()
    wanted = HELD_OUT if held_out is None else held_out
    for task in list(sizes)[::-1][:most]:
        if wanted <= 0:
            break
        looked_at.add(task)
        wanted -= sizes[task]
    for item, task in zip(kept, task_of, strict=True):
        (found.held_out if task in looked_at else found.train).append(item)
    return found


def _read(path: Path, system: Callable[[str], str | None], prompt: str) -> Iterator[Trajectory | None]:
    if is_record_file(path):
        return recorded_trajectories(path)
    return read_trajectories(path, system=system, prompt=prompt)


def _system_messages(envs: Sequence[str], prompt: str) -> Callable[[str], str | None]:
    """A function from an environment's id, short name or domain name to its system message."""

    def domain_of(env: str) -> Domain:
        return training_suite(env, generated=1, prompt=prompt).domain

    given = {env: domain_of(env) for env in envs}

    @cache
    def of(name: str) -> str | None:
        if not name and len(given) == 1:
            return next(iter(given.values())).prompts[prompt]
        for env, domain in given.items():
            if name in (env, domain.name):
                return domain.prompts[prompt]
        for env in env_ids():
            if name in (env, env.removeprefix("simia/").removesuffix("-v0")):
                return domain_of(env).prompts[prompt]
        return None

    return of
