"""Recorded data as this process has it open. States name it by its hash, so that no page becomes part of a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from json import dumps
from pathlib import Path

from simia_gym.envs.mind2web.recorded.data import RANKS, RecordedTask, Step, read_tasks
from simia_gym.envs.mind2web.recorded.page import Page
from simia_gym.envs.mind2web.recorded.ranks import Ranks, by_ranks, by_words, read_ranks
from simia_gym.errors import InputError

_OPEN: dict[str, Recordings] = {}


@dataclass(frozen=True)
class Recordings:
    """A data set.

    Attributes:
        tasks: The recorded tasks.
        ranks: The ranks of a file; None for the word ranker.
        hash: Of all that is read of the files but `raw_html`, and of the ranks.
    """

    tasks: tuple[RecordedTask, ...]
    ranks: Ranks | None
    hash: str

    @cached_property
    def steps(self) -> Mapping[str, tuple[RecordedTask, Step]]:
        """The steps by their keys, each after its task."""
        return {step.key: (task, step) for task in self.tasks for step in task.steps}

    def may_be_solved(self, step: Step, top_k: int) -> bool:
        """Whether a right element may be asked about, as far as it can be said without reading the page."""
        right = [candidate.id for candidate in step.right()]
        if self.ranks is None:
            return bool(right)
        ranks = self.ranks.get(step.key, {})
        return any(ranks.get(name, 0) < top_k for name in right)

    def ranked(self, key: str) -> list[str]:
        """A step's candidates that are in its page, best first.

        Raises:
            InputError: The file of ranks lacks the step or one of its candidates.
        """
        task, step = self.steps[key]
        names = [candidate.id for candidate in (*step.right(), *step.wrong())]
        page = page_of(step)
        if self.ranks is None:
            return by_words(task.request, page.texts(names))
        return by_ranks(self.ranks, key, page.ordered(names))


def open_recordings(path: Path) -> Recordings:
    """Read a file or a folder; ranks lie in the folder, as `ranks.json` or as the release's `*.pkl`.

    Raises:
        InputError: The data cannot be used; the text says where, and what to do.
    """
    found = [*path.rglob(RANKS), *path.rglob("*.pkl")] if path.is_dir() else []
    if len(found) > 1:
        raise InputError(f"{path} holds two files of ranks, {found[0]} and {found[1]}; leave one of them")
    tasks = read_tasks(path)
    digest = sha256()
    for task in tasks:
        known = [task.id, task.website, task.domain, task.subdomain, task.request, task.reprs]
        steps = [
            [step.uid, step.index, step.op, step.value, *(part.digest.hex() for part in step.parts)]
            for step in task.steps
        ]
        digest.update(dumps([known, steps]).encode())
    for file in found:
        digest.update(file.read_bytes())
    made = Recordings(tasks, read_ranks(found[0]) if found else None, digest.hexdigest()[:16])
    _OPEN[made.hash] = made
    return made


def opened(name: str) -> Recordings:
    """The data set of a hash.

    Raises:
        InputError: This process has not opened it.
    """
    if name not in _OPEN:
        raise InputError(f"the recorded data {name} is not open here", where="data", fix="Give its path with data=.")
    return _OPEN[name]


@lru_cache(maxsize=8)
def page_of(step: Step) -> Page:
    """The page of a step; the last few stay in memory."""
    return Page(step.html(), where=f"{step.page.path}: task {step.task}, action {step.uid}")


@lru_cache(maxsize=32)
def pruned(step: Step, query: tuple[str, ...]) -> tuple[str, Sequence[str]]:
    """The page around the candidates of a query, and these in words."""
    return page_of(step).pruned(query)
