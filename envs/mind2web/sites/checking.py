"""Walks over the pages of a site in every theme: what is outside of the declared HTML, and what is not reached."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from simia_gym.envs.mind2web.browser.acting import Typing, click, select, write_in
from simia_gym.envs.mind2web.browser.declared import outside
from simia_gym.envs.mind2web.browser.page import Page
from simia_gym.envs.mind2web.browser.requests import Request
from simia_gym.envs.mind2web.browser.themes import THEMES, Theme, draw
from simia_gym.envs.mind2web.browser.tree import text
from simia_gym.envs.mind2web.browser.values import Value, is_field
from simia_gym.envs.mind2web.sites.loading import sites
from simia_gym.envs.mind2web.sites.pages import Visit, blocks
from simia_gym.envs.mind2web.sites.rows import Shelf, account_rows, catalogue_rows
from simia_gym.envs.mind2web.sites.spec import Site
from simia_gym.errors import DomainError, InputError
from simia_gym.state.table import Table

if TYPE_CHECKING:
    from simia_gym.domain.domain import Domain

_MOST = 80
_FIX = "Change what the file says of this page."


def check(domain: Domain) -> Iterator[InputError]:
    """Check all sites of this folder; for ``simia check``."""
    for site in sites().values():
        yield from mistakes_on_pages(site, str(domain.folder / "sites" / f"{site.name}.yaml"))


def mistakes_on_pages(site: Site, where: str) -> Iterator[InputError]:
    """What is wrong with the pages of a site, in every theme.

    Args:
        site: The site.
        where: Its file, for the errors.
    """
    catalogue = catalogue_rows(site)
    account = account_rows(site, random.Random(0), catalogue)
    shelf = Shelf(site, Table.of(catalogue), Table.of(account))
    for theme in THEMES:
        found = walked(site, theme, shelf, seed=0)
        for name in site.pages.keys() - {name for name, _ in found}:
            yield DomainError("no link and no form leads here", where=f"{where}: pages.{name}", fix="Add one.")
        for name, page in found:
            for wrong in outside(page.body):
                yield DomainError(f"in the theme {theme.name}: {wrong}", where=f"{where}: pages.{name}", fix=_FIX)


def walked(site: Site, theme: Theme, shelf: Shelf, seed: int) -> list[tuple[str, Page]]:
    """Pages that are reached from the start by links and by forms that ask, with their names.

    Of each page, one with every set of pairs in its address that was met.
    """
    found: dict[tuple[str, ...], tuple[str, Page]] = {}
    waiting = [Request("GET", site.start)]
    while waiting and len(found) < _MOST:
        request = waiting.pop(0)
        name = site.paths[request.path]
        key = (name, *sorted(pair for pair, value in request.query or () if value))
        if key in found:
            continue
        content = blocks(Visit(request.path, request.query, seed), shelf)
        page = Page(partial(draw, content, theme), request.path, request.query)
        found[key] = (name, page)
        for node in page.actable():
            tries: list[dict[str, Value]] = [{}]
            if node.kind == "submit":
                tries.append(filled_in(page, node.form))
            for typed in tries:
                outcome = click(page, typed, node.number)
                if isinstance(outcome, Request) and outcome.method == "GET":
                    waiting.append(outcome)
    return list(found.values())


def filled_in(page: Page, form: int) -> dict[str, Value]:
    """Something that fits, in every field of a form that has to be filled in, and in every list."""
    typed: dict[str, Value] = {}
    for node in page.controls[form]:
        outcome: object = None
        if node.kind == "list":
            outcome = select(page, typed, node.number, text(page.options(node.number)[-1][0]))
        elif node.kind == "radio":
            outcome = click(page, typed, node.number)
        elif is_field(node) and node.element.has("required"):
            value = node.element.get("value") or node.element.get("min") or "new@post.example"
            outcome = write_in(page, typed, node.number, value)
        if isinstance(outcome, Typing):
            typed = outcome.typed
    return typed
