"""A user's own sites: their tables, and tasks of every kind that their files describe."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from simia_gym.domain.data import DomainData, files_hash
from simia_gym.envs._work.numbers import check_number
from simia_gym.envs.mind2web.browser.themes import THEMES
from simia_gym.envs.mind2web.sites.loading import add_site
from simia_gym.envs.mind2web.state import schema, tables_of
from simia_gym.envs.mind2web.work.generate import SiteTasks
from simia_gym.types import Split, Task


def own_sites(files: Sequence[Path]) -> DomainData:
    """Load the files of sites. Train and test have one task of each kind; any number more can be generated.

    Raises:
        InputError: A file has mistakes, or no task of a kind can be drawn from it.
    """
    sites = [add_site(file) for file in files]
    kinds = [(maker, name) for maker in map(SiteTasks, sites) for name in maker.site.kinds]

    def task(split: Split, number: int, mark: str) -> Task:
        maker, name = kinds[number % len(kinds)]
        rng = random.Random(f"{maker.site.name} {split} {mark}")
        return maker.task(f"{maker.site.name}-{split}-{mark}", split, name, rng.choice(THEMES).name, rng, {})

    def generate(split: Split, index: int) -> Task:
        check_number(index)
        return task(split, index, f"g{index:06d}")

    splits: tuple[Split, Split] = ("train", "test")
    return DomainData(
        tables=tables_of(sites),
        tasks={split: [task(split, number, f"{number:03d}") for number in range(len(kinds))] for split in splits},
        generator=generate,
        state_schema=schema(sites),
        hash=files_hash(files),
    )
