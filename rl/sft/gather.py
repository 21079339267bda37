"""What there is to learn from: experts at play, record files, data sets. All of it from tasks for training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simia_gym.errors import InputError
from simia_gym.rl.sft.files import read_trajectories
from simia_gym.rl.sft.recorded import is_record_file, recorded_trajectories
from simia_gym.rl.sft.trajectories import Trajectory, expert_play, training_config
from simia_gym.suite import load_suite

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
    number: int,
    *,
    held_out: int = 0,
    prompt: str = "full",
    seed: int = 0,
    least: float = 1.0,
    on_one: Callable[[], None] = lambda: None,
) -> Gathered:
    """Let the experts of environments play tasks for training, fixed ones first, then as many generated ones as needed.

    Args:
        envs: The environments' ids; each gives an equal part.
        number: Trajectories to learn from, of all environments together.
        held_out: Trajectories of other tasks to look at only. From run to run they are the same ones.
        prompt: ``full`` or ``compact``.
        seed: Seed of the episodes; it decides the experts' wording.
        least: The least reward that is worth learning from.
        on_one: Called after each episode.

    Raises:
        InputError: An environment has no expert, or no generator and too few tasks.
    """
    if number < 1:
        raise InputError(f"trajectories is {number}", where="trajectories", fix="Use 1 or more.")
    found = Gathered()
    for place, env in enumerate(envs):
        train, looked_at = _part(number, place, len(envs)), _part(held_out, place, len(envs))
        _one(env, found, train, looked_at, prompt=prompt, seed=seed, least=least, on_one=on_one)
    return found


def _part(number: int, place: int, parts: int) -> int:
    return number // parts + (place < number % parts)


def _one(
    env: str,
    found: Gathered,
    train: int,
    held_out: int,
    *,
    prompt: str,
    seed: int,
    least: float,
    on_one: Callable[[], None],
) -> None:
    """Play one environment; generated tasks never run out, so what falls short is made up for.

    What is held out is always of the same tasks, the first that are generated, and no training learns from them: the
    next one, which goes on with this one's policy, looks at what that has not seen, either.
    """
    suite = load_suite(training_config(env, generated=0, prompt=prompt))
    fixed = len(suite.tasks)
    looked_at: Sequence[int] = range(fixed)[::-1]
    if suite.domain.generator is not None:
        kept_apart, most = fixed + _SPARE * held_out, fixed + _SPARE * held_out + 4 * train + 100
        suite = load_suite(training_config(env, generated=most - fixed, prompt=prompt))
        looked_at, learned = range(fixed, kept_apart), (*range(fixed), *range(kept_apart, most))

    def play(tasks: Sequence[int], wanted: int) -> tuple[list[Trajectory], int]:
        """So many trajectories, and how many tasks that took."""
        kept: list[Trajectory] = []
        tried = 0
        for done in expert_play(suite, tasks, seed=seed, least=least) if wanted else ():
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
        learned = tuple(range(fixed - tried))
    kept, _ = play(learned, train)
    if len(held) < held_out or len(kept) < train:
        what = f"its expert gives {len(held) + len(kept)} trajectories with a reward of at least {least:g}"
        raise InputError(what, where=env, fix="Ask for fewer.")
    found.train += kept
    found.held_out += held


def from_files(
    paths: Iterable[Path],
    *,
    held_out: int = 0,
    least: float = 1.0,
    prompt: str | None = None,
    envs: Sequence[str] = (),
) -> Gathered:
    """Read trajectories from record files of `simia rollout` and from data sets.

    Args:
        paths: The files.
        held_out: How many to look at only: whole tasks, taken from the end.
        least: The least reward that is worth learning from. Rows of data sets that name no reward count as good.
        prompt: Which system message a row without one gets.
        envs: The environments whose system messages those are.

    Raises:
        InputError: A file cannot be read, or nothing in it is worth learning from.
    """
    found = Gathered()
    kept: list[Trajectory] = []
    paths = list(paths)
    for path in paths:
        for item in _read(path, envs, prompt or "full"):
            if item.reward >= least or item.success:
                kept.append(item)
            else:
                found.below += 1
    if not kept:
        names = ", ".join(map(str, paths))
        raise InputError("no conversation in it is worth learning from", where=names, fix="Lower --least-reward.")
    tasks = list(dict.fromkeys((item.env, item.task) for item in kept))
    looked_at: set[tuple[str, str]] = set()
    while tasks and len(tasks) > 1 and sum((item.env, item.task) in looked_at for item in kept) < held_out:
        looked_at.add(tasks.pop())
    for item in kept:
        (found.held_out if (item.env, item.task) in looked_at else found.train).append(item)
    return found


def _read(path: Path, envs: Sequence[str], prompt: str) -> Iterator[Trajectory]:
    if is_record_file(path):
        return recorded_trajectories(path)
    system: dict[str, str] = {}
    for env in envs:
        domain = load_suite(training_config(env, generated=0, prompt=prompt)).domain
        system[env] = system[domain.name] = domain.prompts[prompt]
    return read_trajectories(path, system=system)
