"""The files of sites: what they must hold, their mistakes with lines, and the rows that are drawn from them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from simia_gym.envs.mind2web.sites import loading
from simia_gym.envs.mind2web.sites.loading import load_site, sites
from simia_gym.envs.mind2web.sites.rows import account_rows, catalogue_rows, redrawn_rows, slug_of
from simia_gym.envs.mind2web.sites.spec import Site
from simia_gym.envs.mind2web.sites.texts import filled, long_date, short_date, slots, slug
from simia_gym.errors import DomainError

each = pytest.mark.parametrize("site", sites().values(), ids=list(sites()))
LIBRARY = Path(loading.__file__).with_name("library.yaml")


@each
def test_a_site_has_kinds_pages_and_account_tables(site: Site) -> None:
    assert len(site.kinds) >= 5
    assert len(site.pages) >= 5
    assert any(table.account and not table.one for table in site.tables.values())


@each
def test_the_catalogue_is_always_the_same(site: Site) -> None:
    rows = catalogue_rows(site)
    assert rows == catalogue_rows(site)
    for name, table in site.tables.items():
        if not table.account:
            assert sum(key.startswith(f"{site.name}:{name}:") for key in rows) == table.rows


@each
def test_an_account_is_drawn_for_each_task(site: Site) -> None:
    catalogue = catalogue_rows(site)
    one, same, other = (account_rows(site, random.Random(seed), catalogue) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    for key, row in one.items():
        _, table, rest = key.split(":")
        assert slug_of(site.tables[table], row) == rest


@each
def test_some_rows_of_an_account_are_nearly_alike(site: Site) -> None:
    rows = account_rows(site, random.Random(3), catalogue_rows(site))
    for name, table in site.tables.items():
        if table.account and not table.one:
            held = [row for key, row in rows.items() if key.startswith(f"{site.name}:{name}:")]
            assert len(held) >= 12
            pairs = [(a, b) for at, a in enumerate(held) for b in held[:at]]
            assert sum(sum(a[column] != b[column] for column in a) == 1 for a, b in pairs) >= 3


@each
def test_numbers_are_drawn_again_for_each_task(site: Site) -> None:
    one, other = (redrawn_rows(site, random.Random(seed), catalogue_rows(site)) for seed in (1, 2))
    assert one != other
    assert one.keys() == other.keys() <= catalogue_rows(site).keys()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("name: library", "name: books", "has another name"),
        ("button: Find books", "buton: Find books", "there is no key 'buton'. Did you mean 'button'?"),
        ("to: results", "to: result", "there is no page 'result'"),
        ("menu: [search,", "menu: [serch,", "there is no page 'serch'"),
        ("title: {label: Title}", "page: {label: Title}", "a field is not called page"),
        ('Author: "{author}", Year: "{year}", Fee', 'Author: "{writer}", Fee', "nothing fills {writer}"),
        ('{Book: "{book.title}", Branch: "{branch}", Until', '{Book: "{book}", Until', "nothing fills {book}"),
        ("sort: seats", "sort: size", "there is no column 'size'"),
        ('genre: "= {genre}", year', 'genre: "is {genre}", year', "'is {genre}' is no condition"),
        ("undo: cancel\n", "undo: keep\n", "does not remove rows of reservations"),
        ("undo: cancel\n", "undo: cancel\n      final: true\n", "or write final: true"),
        ('branch: "{branch}", until: "{until}"}}', 'branch: "{branch}"}}', "a new row lacks until"),
        ("rows: 14", "rows: 4", "at least 12 rows"),
        ("heading: Books found", 'heading: "Book: all"', "begins with 'Book: '"),
        ("author: {pool: person}", "author: {pool: people}", "there is no pool 'people'"),
        ("year: {between: [1962, 2024]}", "year: {between: [2024, 1962]}", "the first number is the lower one"),
        ("genre: {pool: [Crime", "genre: {mix: x, pool: [Crime", "give exactly one of"),
        ("path: /results", "path: /", "has this path, too"),
        ("words: Reserve,", "words: Put on my list,", "two things on the page are called 'Put on my list'"),
        ('to: reserve, with: {book: "{key}"}', "to: reserve", "is that of a row, which is not named"),
        ("each: reservation\n", "one: false\n", "nothing says how a row of this table is called"),
        ("choice: books.genre", "choice: books.shelf", "no pool to choose from"),
        ("- Reserve {book.title} for pick-up at {branch}, kept", "- Reserve {book.title}, kept", "says other values"),
        ("press: Details}\n          - {page: book, press: Reserve}", "press: Detail}", "no step of a row 'Detail'"),
        ("least: fee", "least: price", "there is no column 'price'"),
        ("read: Shelf", "read: Shelves", "there is no fact 'Shelves'"),
        ('result: {remove: reservations, key: "{reservation}"}', "result: {remove: reservations}", "has a key"),
    ],
)
@pytest.mark.sampled
def test_a_mistake_is_named_with_its_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    text = LIBRARY.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "library.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DomainError) as caught:
        load_site(path)
    problems = caught.value.problems or (caught.value,)
    found = [str(one) for one in problems if says in str(one)]
    assert found, [str(one) for one in problems]
    assert f"{path}:" in found[0]
    assert found[0].split(f"{path}:")[1][0].isdigit()


def test_texts_have_slots_and_dates() -> None:
    assert slots("Until {until} at {book.title}") == ("until", "book.title")
    assert filled("{a} and {b.c}", str.upper) == "A and B.C"
    assert slug("The Old Mill, 2nd ed.") == "the-old-mill-2nd-ed"
    assert long_date("2026-03-03") == "3 March 2026"
    assert short_date("3 March 2026") == "2026-03-03"
    assert short_date("soon") is None
