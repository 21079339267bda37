"""What there is to learn from: experts at play, record files, data sets. All of it from tasks for training."""

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
from simia_gym.rl.sft.files import read_trajectories
from simia_gym.rl.sft.recorded import is_record_file, recorded_trajectories
from simia_gym.rl.sft.trajectories import Trajectory, expert_play, training_suite

TRAJECTORIES = 2_000
"""Expert trajectories where nobody says how many."""
HELD_OUT = 64
"""Trajectories that are held out where nobody says how many; where tasks run out, those of a tenth of them at most."""
_SPARE = 2
"""Tasks that are kept apart for each trajectory that is held out, since not every expert is always right."""


@dataclass
class Gathered:
    """Trajectories, and what was left out.

    Attributes:
        train: Those to learn from.
        held_out: Those that are only looked at, of tasks that none of ``train`` is of.
        below: Number of those with too little reward.
        faults: Number of episodes that a fault left without a verdict.
    """

    train: list[Trajectory] = field(default_factory=list)
    held_out: list[Trajectory] = field(default_factory=list)
    below: int = 0
    faults: int = 0

    @property
    def kinds(self) -> dict[str, int]:
        """How many there are to learn from, by environment and kind of task."""
        return dict(sorted(Counter(f"{item.env}/{item.kind}" for item in self.train).items()))


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
    """Let the experts of environments play tasks for training, fixed ones first, then as many generated ones as needed.

    Args:
        envs: The environments' ids, or folders of domains; each gives an equal part.
        number: Trajectories to learn from, of all environments together; ``None`` for `TRAJECTORIES`, or as many as
            there are where the tasks run out.
        held_out: Trajectories of other tasks to look at only. From run to run they are the same ones. ``None`` for
            `HELD_OUT`, or of a tenth of the tasks where they run out.
        prompt: ``full`` or ``compact``.
        seed: Seed of the episodes; it decides the experts' wording.
        least: The least reward that is worth learning from.
        expert: Which of their policies plays.
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
    """Play one environment; generated tasks never run out, so what falls short is made up for. Fixed ones do.

    What is held out is always of the same tasks, the first that are generated, and no training learns from them: the
    next one, which goes on with this one's policy, looks at what that has not seen, either.
    """
    fixed = len(suite.tasks) - suite.config.generated
    looked_at: Sequence[int] = range(fixed)[::-1]
    learned: Sequence[int] = ()
    if suite.domain.generator is not None:
        kept_apart, most = fixed + _SPARE * held_out, fixed + _SPARE * held_out + 4 * train + 100
        suite = load_suite(replace(suite.config, generated=most - fixed))
        looked_at, learned = range(fixed, kept_apart), (*range(fixed), *range(kept_apart, most))

    def play(tasks: Sequence[int], wanted: int) -> tuple[list[Trajectory], int]:
        """So many trajectories, and how many tasks that took."""
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
        held_out: How many to look at only: whole tasks, taken from the end. ``None`` for `HELD_OUT`, of a tenth of the
            tasks at most. A row that names no task is a task of its own.
        least: The least reward that is worth learning from. Rows of data sets that name no reward count as good.
        prompt: Which system message a row without one gets: ``full`` or ``compact``.
        envs: Environments that rows may name besides the installed ones; a row that names none is of the one that
            stands here, where it is only one.

    Raises:
        InputError: A file cannot be read, or nothing in it is worth learning from.
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
        raise InputError("no conversation in it is worth learning from", where=names, fix="Lower --least-reward.")
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
    """Give the system message of an environment by its id, its short name, or the name of its domain."""

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
