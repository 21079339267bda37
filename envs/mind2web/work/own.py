"""A user's own sites: their tables, and tasks of every kind that their files describe."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from simia_gym.domain.data import DomainData, files_hash
from simia_gym.envs._work.numbers import check_number
from simia_gym.envs.mind2web.browser.themes import THEMES
from simia_gym.envs.mind2web.sites.checking import mistakes_on_pages
from simia_gym.envs.mind2web.sites.loading import add_site
from simia_gym.envs.mind2web.sites.spec import Site
from simia_gym.envs.mind2web.state import schema, tables_of
from simia_gym.envs.mind2web.work.generate import SiteTasks
from simia_gym.errors import DomainError, InputError
from simia_gym.types import Split, Task


def own_sites(files: Sequence[Path]) -> DomainData:
    """Load the files of sites. Train and test have one task of each kind; any number more can be generated.

    Raises:
        InputError: Files have mistakes, all of which are named, or no task of a kind can be drawn from one.
    """
    sites = _checked(files)
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


def _checked(files: Sequence[Path]) -> list[Site]:
    """The sites of files without mistakes, whose pages are reached and lie in the declared part of HTML."""
    sites: list[Site] = []
    problems: list[InputError] = []
    for file in files:
        try:
            sites.append(site := add_site(file))
        except DomainError as error:
            problems += error.problems or (error,)
        else:
            problems += mistakes_on_pages(site, str(file))
    if problems:
        raise DomainError.of(problems)
    return sites
