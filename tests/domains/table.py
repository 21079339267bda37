"""The domains that the shared tests play: those that are registered, what `simia new-domain` writes, and the fixtures.

A registered domain needs no entry here. An entry says what is its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import gymnasium as gym

from simia_gym.assembly.suite import Suite
from simia_gym.cli.new_domain import TEMPLATES
from simia_gym.common.files import read_yaml
from simia_gym.domain.config import DomainConfig, read_config
from simia_gym.domain.domain import Domain
from simia_gym.domain.registration import CUSTOM, domain_folders
from simia_gym.policies import Policy
from simia_gym.types import Task

from ..airline import cheats as airline
from ..mind2web import cheats as sites
from ..officebench import cheats as office
from ..os import cheats as shell
from ..proof.stage import suite_of
from ..retail import cheats as shop
from ..webshop import cheats as pages

FIXTURES = Path(__file__).parent / "fixtures"
OTHER_WORDS = Path(__file__).parent / "other_words"
"""What the customers of services say in other words, a file a domain, by the name of its folder."""
AGENTS = Path(__file__).parent / "agents"
"""What agents say in many ways, a file a domain with customers."""
ALLOWED = ("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning",)
"""Warnings that are no errors: Gymnasium forks the workers of its asynchronous vectors."""


@dataclass(frozen=True)
class Own:
    """What is a domain's own.

    Attributes:
        cheats: Its own cheats, beside those that every service has.
        holes: What the cheats do that still succeed here.
        unheard: Arguments of calls that the expert words itself; it has heard the words of all others.
        slice: Most bytes of a slice.
        bare: Whether its other files do without `world.py`.
        errs: Whether who knows nothing gets errors; what a shell or a browser says of what it refuses is its output.
        sandboxed: Whether its tools need a sandbox; without one its tests are skipped.
    """

    cheats: Sequence[type[Policy]] = ()
    holes: Sequence[str] = ()
    unheard: Sequence[str] = ()
    slice: int = 20_000
    bare: bool = True
    errs: bool = True
    sandboxed: bool = False


OWN = {
    "simia/retail-v0": Own(
        cheats=shop.CHEATS,
        unheard=("summary",),
        bare=False,
    ),
    "simia/airline-v0": Own(
        cheats=airline.CHEATS,
        unheard=("summary",),
        slice=8_000,
        bare=False,
    ),
    "simia/webshop-v0": Own(cheats=pages.CHEATS),
    "simia/officebench-v0": Own(
        cheats=office.CHEATS,
        unheard=("answer", "column_idx", "content", "contents", "email_id", "row_idx", "time_end", "time_start"),
        slice=12_000,
    ),
    "simia/mind2web-v0": Own(cheats=sites.CHEATS, errs=False, slice=12_000),
    "simia/os-v0": Own(cheats=shell.CHEATS, unheard=("script",), errs=False, sandboxed=True),
    "files": Own(bare=False),
    "flights": Own(slice=2_000, bare=False),
    "office": Own(bare=False),
    "site": Own(unheard=("action",)),
    "tools": Own(unheard=("outcome", "note")),
    "service": Own(
        holes=(  # some rows of the desk are as short as an answer
            "Answers with all the values that it has seen, ten or more.",
            "Answers with the values of the row that it has seen last, ten or more.",
        ),
        unheard=("summary",),
        bare=False,
    ),
}


@dataclass(frozen=True, eq=False)
class World:
    """A domain that the shared tests play."""

    name: str
    folder: Path
    env: str = CUSTOM

    @property
    def own(self) -> Own:
        return OWN.get(self.name, Own())

    @property
    def agents(self) -> Any:
        return read_yaml(AGENTS / f"{self.folder.name}.yaml")

    @cached_property
    def config(self) -> DomainConfig:
        """What its `domain.yaml` says, read once: every shared test is spread over the worlds by it."""
        return read_config(self.folder / "domain.yaml")

    @property
    def settings(self) -> dict[str, Any]:
        return {} if self.env != CUSTOM else {"domain": str(self.folder)}

    def suite(self, base_url: str | None = None, **settings: Any) -> Suite:
        """An environment with all fixed tasks, whose models are asked at this address."""
        return suite_of(self.env, base_url, **{"split": "all", **self.settings, **settings})

    def make(self, **settings: Any) -> Any:
        """The environment as Gymnasium makes it."""
        return gym.make(self.env, **self.settings, **settings)

    @property
    def domain(self) -> Domain:
        return self.suite(simulator="world").domain

    @cache  # noqa: B019 - worlds live as long as the tests
    def tasks(self, generated: int = 0) -> Sequence[Task]:
        """The fixed tasks, and generated ones if the domain has a generator."""
        return [*self.domain.tasks_of("all", 0 if self.domain.generator is None else self.few(generated))]

    def mixed(self, number: int) -> Sequence[Task]:
        """So many generated tasks, and at least as many of the fixed ones, evenly spread, or all."""
        fixed = self.tasks()
        return [*fixed[:: max(1, len(fixed) // number)], *self.tasks(number)[len(fixed) :]]

    def few(self, count: int) -> int:
        """So many actions or tasks, or few of them where an action takes long."""
        return min(count, 6) if self.domain.world is not None and self.domain.world.io else count

    @property
    def some(self) -> Sequence[Task]:
        """Some thirty tasks, or as many as there are."""
        tasks = self.tasks(0 if len(self.tasks()) >= 30 else 30)
        return tasks[:: max(1, len(tasks) // 30)]


WORLDS = [
    *(World(env, folder, env) for env, folder in domain_folders().items()),
    *(World(kind, TEMPLATES / kind) for kind in ("tools", "service")),
    *(World(folder.name, folder) for folder in sorted(FIXTURES.iterdir())),
]
