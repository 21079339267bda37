"""Pages and forms of all sites in all themes; a new site file is tested by being there."""

from __future__ import annotations

from functools import partial

import pytest

from simia_gym.envs.mind2web.browser.acting import submit
from simia_gym.envs.mind2web.browser.declared import outside
from simia_gym.envs.mind2web.browser.names import names, role
from simia_gym.envs.mind2web.browser.page import Page
from simia_gym.envs.mind2web.browser.requests import Request
from simia_gym.envs.mind2web.browser.themes import THEMES, Theme, draw
from simia_gym.envs.mind2web.browser.tree import raw_text, text, walk
from simia_gym.envs.mind2web.sites.checking import filled_in, walked
from simia_gym.envs.mind2web.sites.loading import sites
from simia_gym.envs.mind2web.sites.pages import FINAL, NO_PAGE, NO_ROW, REFUSED, Visit, blocks
from simia_gym.envs.mind2web.sites.rows import Shelf
from simia_gym.envs.mind2web.sites.server import answer
from simia_gym.envs.mind2web.sites.spec import Site
from simia_gym.envs.mind2web.sites.texts import fixed
from simia_gym.state.table import Table
from tests.mind2web.site_visits import SEED, changed, done, drawn, shelf_of, undone

each = pytest.mark.parametrize("site", sites().values(), ids=list(sites()))
in_every_theme = pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
FORMS = [
    (site, name) for site in sites().values() for name, page in site.pages.items() if page.form and page.form.effect
]
each_form = pytest.mark.parametrize(("site", "name"), FORMS, ids=[f"{site.name}-{name}" for site, name in FORMS])


def shown(visit: Visit, shelf: Shelf, theme: Theme = THEMES[0]) -> Page:
    return Page(partial(draw, blocks(visit, shelf), theme), visit.path, visit.query)


@each
def test_a_page_shows_only_rows_that_the_site_says_it_reads(site: Site) -> None:
    tables = [Table.of(rows) for rows in drawn(site)]
    found = {(False, False): 0}
    for _, page in walked(site, THEMES[0], Shelf(site, *tables), SEED):
        reads, visit = site.reads[page.path], Visit(page.path, page.query, SEED)
        kept = [table if read else None for table, read in zip(tables, reads, strict=True)]
        assert blocks(visit, Shelf(site, *kept)) == blocks(visit, Shelf(site, *tables)), page.path
        found[reads] = found.get(reads, 0) + 1
    assert len(found) > 2
    assert all(found.values())


@in_every_theme
@each
def test_every_page_is_reached_and_lies_in_the_declared_part_of_html(site: Site, theme: Theme) -> None:
    found = walked(site, theme, shelf_of(site, *drawn(site)), SEED)
    assert {name for name, _ in found} == set(site.pages)
    for name, page in found:
        assert outside(page.body) == [], name
        heading = next(text(one) for one in walk(page.body) if one.tag == "h1")
        assert heading not in (NO_PAGE, NO_ROW)
        assert heading.startswith(fixed(site.pages[name].heading))
        assert all(names(page).values()), name


@in_every_theme
@each
def test_what_a_page_offers_is_told_apart_by_its_words(site: Site, theme: Theme) -> None:
    for name, page in walked(site, theme, shelf_of(site, *drawn(site)), SEED):
        called = names(page)
        of_rows = site.pages[name].rows
        words = {step.words for step in of_rows.steps} if of_rows else set()
        once = [(role(node), called[node.number]) for node in page.actable() if called[node.number] not in words]
        radios = sum(node.kind == "radio" for node in page.actable())
        assert len(set(once)) >= len(once) - radios, name


@each_form
def test_a_form_that_is_undone_leaves_no_trace(site: Site, name: str) -> None:
    page, (catalogue, account) = site.pages[name], drawn(site)
    assert page.form is not None
    before = shelf_of(site, catalogue, account)
    request, given = done(site, name, catalogue, account)
    after = changed(account, given)
    assert after != account
    assert site.paths[given.path] == page.form.then
    says = [
        raw_text(one)
        for one in walk(shown(Visit(given.path, given.query, SEED), shelf_of(site, catalogue, after)).body)
    ]
    assert page.form.done in says
    words = [raw_text(one) for one in walk(shown(Visit(request.path, request.query, SEED), before).body)]
    assert (FINAL in words) == page.form.final
    if page.form.undo is None:
        return
    back = answer(undone(site, page, request, given, before), shelf_of(site, catalogue, after), SEED)
    assert back.changes, back
    assert changed(after, back) == account


@each_form
def test_a_form_sent_twice_or_with_what_does_not_fit_changes_nothing_more(site: Site, name: str) -> None:
    catalogue, account = drawn(site)
    request, given = done(site, name, catalogue, account)
    after = changed(account, given)
    shelf = shelf_of(site, catalogue, after)
    again = answer(request, shelf, SEED)
    assert changed(after, again) == after
    if len(given.changes) == 1 and given.changes.keys() - account.keys():
        assert not again.changes
        words = [raw_text(one) for one in walk(shown(Visit(again.path, again.query, SEED), shelf).body)]
        assert REFUSED["exists"] in words
    page = site.pages[name]
    assert page.form is not None
    needed = [one for one, field in page.form.fields.items() if field.required]
    for field in needed:
        body = tuple((one, "" if one == field else value) for one, value in request.body or ())
        wrong = answer(request._replace(body=body), shelf_of(site, catalogue, account), SEED)
        assert not wrong.changes
        assert ("refused", "wrong") in (wrong.query or ())


@each
def test_an_unknown_address_is_a_page_that_says_so(site: Site) -> None:
    shelf = shelf_of(site, *drawn(site))
    page = shown(Visit("/nowhere", None, SEED), shelf)
    assert NO_PAGE in [raw_text(one) for one in walk(page.body)]
    of_row = next(one for one in site.pages.values() if one.of and not site.tables[one.of].one)
    page = shown(Visit(of_row.path, ((site.tables[of_row.of or ""].each or "", "nobody"),), SEED), shelf)
    assert NO_ROW in [raw_text(one) for one in walk(page.body)]


@each
def test_the_order_of_rows_is_that_of_the_seed(site: Site) -> None:
    name, page = next(
        (name, one)
        for name, one in site.pages.items()
        if one.rows and site.tables[one.rows.table].account and not one.rows.sort
    )
    shelf = shelf_of(site, *drawn(site))
    one, same, other = (blocks(Visit(page.path, None, seed), shelf) for seed in (1, 1, 2))
    assert one == same, name
    assert one != other


def asked(query: str, *, of: str = "/results") -> list[str]:
    library = sites()["library"]
    pairs = tuple((part.partition("=")[0], part.partition("=")[2]) for part in query.split("&"))
    body = draw(blocks(Visit(of, pairs, SEED), shelf_of(library, *drawn(library))), THEMES[0])
    return [text(one) for one in walk(body) if one.tag in ("p", "td", "a")]


def test_a_list_is_filtered_sorted_and_turned() -> None:
    assert asked("title=&genre=&from=&sort=")[5] == "60 found, page 1 of 8."
    crime = asked("title=&genre=Crime&from=1980&sort=-year")
    assert crime[5].startswith("Genre: Crime. Published from: 1980. Sort by: Newest first. ")
    years = [int(cell) for cell in crime if cell.isdecimal() and len(cell) == 4]
    assert years == sorted(years, reverse=True)
    assert min(years) >= 1980
    first, second, beyond = (asked(f"title=the&page={number}") for number in (1, 2, 99))
    assert "Next page" in first
    assert "Previous page" not in first
    assert {"Next page", "Previous page"} <= set(second)
    assert "page 8 of 8" in beyond[5]
    assert asked("title=zzz")[5] == "Title: zzz. Nothing found."
    assert asked("from=soon")[5] == "Published from: soon. Nothing found."


def test_a_form_that_asks_keeps_the_pairs_of_the_address() -> None:
    library = sites()["library"]
    shelf = shelf_of(library, *drawn(library))
    room = shelf.rows("rooms", SEED)[0][0]
    page = shown(Visit("/rooms/time", (("room", room), ("people", "4"), ("done", "x")), SEED), shelf)
    button = next(node for node in page.actable() if node.kind == "submit")
    outcome = submit(page, filled_in(page, button.form), button)
    assert isinstance(outcome, Request)
    assert outcome.url == f"/rooms/confirm?day=2026-03-02&time=17%3A00&room={room}&people=4"
    page = shown(Visit(outcome.path, outcome.query, SEED), shelf)
    assert any(
        node.element.get("name") == "people" and node.element.get("value") == "4" for node in page.nodes.values()
    )
