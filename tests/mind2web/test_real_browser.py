"""Whole visits to every site, in the small browser and in a real one at the same time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pytest

from simia_gym.domain.tasks import gold_calls
from simia_gym.envs.mind2web.browser.themes import THEMES
from simia_gym.envs.mind2web.serving.visitor import freely, on_task
from simia_gym.envs.mind2web.serving.web import SiteServer
from simia_gym.envs.mind2web.sites.loading import sites
from simia_gym.envs.mind2web.work.generate import SiteTasks
from simia_gym.types import Task

from .chromium import Chromium, browser, installed
from .plays import domain
from .side_by_side import SideBySide, random_call

WALKS, ACTIONS = 2, 15


class Real(NamedTuple):
    """A window of a real browser, and the server that it asks."""

    chromium: Chromium
    server: SiteServer

    def visit(self, task: Task) -> SideBySide:
        return SideBySide(self.chromium, self.server, on_task(whole(), task, None))


whole = cache(domain)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    installed()
    profile = tmp_path_factory.mktemp("browser") / "profile"
    with browser(profile) as (chromium, _), SiteServer(freely(sites()["library"])) as server:
        yield Real(chromium, server)


@cache
def tasks(name: str) -> list[Task]:
    """A task of each kind of a site, in all themes by turns."""
    maker, first = SiteTasks(sites()[name]), list(sites()).index(name)
    return [
        maker.task(f"{name}-{way}", "train", way, THEMES[(first + number) % len(THEMES)].name, random.Random(way), {})
        for number, way in enumerate(sites()[name].kinds)
    ]


def play(real: Real, task: Task) -> None:
    visit = real.visit(task)
    for call in gold_calls(task):
        visit.play(call)
    visit.end()


def test_a_real_browser_does_a_task_as_the_small_one(real: Real) -> None:
    play(real, tasks("library")[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", sites())
def test_a_real_browser_does_every_kind_of_task_as_the_small_one(real: Real, name: str) -> None:
    for task in tasks(name):
        play(real, task)


@pytest.mark.slow
@pytest.mark.parametrize("name", sites())
def test_a_real_browser_walks_at_random_as_the_small_one(real: Real, name: str) -> None:
    for number, task in enumerate(tasks(name)[:WALKS]):
        rng, visit, gold = random.Random(f"{name} {number}"), real.visit(task), gold_calls(task)
        for call in gold[: rng.randrange(len(gold))]:  # deep into the site
            visit.play(call)
        for _ in range(ACTIONS):
            visit.play(random_call(visit.state, rng))
        visit.end()
