"""Visits to sites in tests: rows of a task, pages by address, forms filled with something that fits."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from simia_gym.envs.mind2web.browser.requests import Pairs, Request
from simia_gym.envs.mind2web.sites.pages import Visit, options, row_of
from simia_gym.envs.mind2web.sites.rows import Shelf, account_rows, catalogue_rows
from simia_gym.envs.mind2web.sites.server import Answer, answer
from simia_gym.envs.mind2web.sites.spec import FieldSpec, FormSpec, PageSpec, Site
from simia_gym.envs.mind2web.sites.texts import slots
from simia_gym.state.table import Table

SEED = 5
Rows = dict[str, Any]


def drawn(site: Site, seed: int = 1) -> tuple[Rows, Rows]:
    """The rows of the catalogue and of an account."""
    catalogue: Rows = dict(catalogue_rows(site))
    return catalogue, dict(account_rows(site, random.Random(seed), catalogue))


def shelf_of(site: Site, catalogue: Rows, account: Rows) -> Shelf:
    """The rows to look into."""
    return Shelf(site, Table.of(catalogue), Table.of(account))


def changed(account: Rows, given: Answer) -> Rows:
    """The account after an answer."""
    after = dict(account)
    for key, row in given.changes.items():
        if row is None:
            del after[key]
        else:
            after[key] = row
    return after


def fitting(field: FieldSpec, shelf: Shelf) -> list[str]:
    """Some values that a field takes."""
    if field.choice is not None:
        return [value for value, _ in options(field, shelf, SEED)]
    if field.kind == "date":
        return [str(field.limits.get(limit, "2026-03-10")) for limit in ("min", "max")]
    if field.kind == "number":
        return [str(field.limits.get(limit, 2)) for limit in ("min", "max")]
    if field.kind == "flag":
        return ["yes", ""]
    words = "new@post.example" if field.kind == "email" else "0207 1" if field.kind == "tel" else "Something new"
    return [words[: int(field.limits.get("maxlength", len(words)))]]


def asking(site: Site, name: str, shelf: Shelf) -> Iterator[Pairs | None]:
    """Addresses at which a page with an effect has all that it needs: one for each row that it may be about."""
    page = site.pages[name]
    further: list[tuple[str, str]] = []
    assert page.form is not None
    assert page.form.effect is not None
    for column, text in page.form.effect.row.items():
        spec = site.tables[page.form.effect.table].columns[column]
        for slot in slots(text):
            of_row = page.of and slot.partition(".")[0] in site.tables[page.of].columns
            if slot not in page.form.fields and (not of_row or page.form.effect.way == "change"):
                value = "2026-03-10" if spec.kind == "date" else "2" if spec.kind == "number" else ""
                if spec.pool is not None:
                    value = (site.pools[spec.pool] if isinstance(spec.pool, str) else spec.pool)[0]
                if spec.of is not None:
                    value = shelf.rows(spec.of, SEED)[0][0]
                further.append((slot, value))
    if page.of is None or site.tables[page.of].one:
        yield tuple(further) or None
        return
    each = site.tables[page.of].each or ""
    for key, _ in shelf.rows(page.of, SEED):
        yield ((each, key), *(pair for pair in further if pair[0] != each))


def sent(form: FormSpec, shelf: Shelf, turn: int) -> Pairs:
    """Values for the fields of a form; those of another turn are others where there are others."""
    found = []
    for name, field in form.fields.items():
        values = fitting(field, shelf)
        value = values[turn % len(values)]
        if value or field.kind != "flag":
            found.append((name, value))
    return tuple(found)


def done(site: Site, name: str, catalogue: Rows, account: Rows) -> tuple[Request, Answer]:
    """Sends the form of a page with something that the site takes and that changes a row."""
    page = site.pages[name]
    assert page.form is not None
    shelf = shelf_of(site, catalogue, account)
    for turn in range(6):
        for query in asking(site, name, shelf):
            request = Request("POST", page.path, query, sent(page.form, shelf, turn))
            given = answer(request, shelf, SEED)
            if given.changes and changed(account, given) != account:
                return request, given
    raise AssertionError(f"{site.name}: no try with the form of {name} was taken")


def undone(site: Site, page: PageSpec, request: Request, given: Answer, before: Shelf) -> Request:
    """The request with which the other form undoes what a form has done."""
    assert page.form is not None
    assert page.form.effect is not None
    back = site.pages[page.form.undo or ""]
    assert back.form is not None
    assert back.form.effect is not None
    own = row_of(page, Visit(request.path, request.query, SEED), before)
    old: Mapping[str, Any] = own[1] if own is not None and page.form.effect.way != "add" else {}
    query: dict[str, str] = {}
    if back.of == page.form.effect.table and not site.tables[back.of].one:
        new = next(key.split(":")[2] for key, row in given.changes.items() if row is not None)
        query[site.tables[back.of].each or ""] = new
    body: dict[str, str] = {}
    for column, text in back.form.effect.row.items():
        slot = text[1:-1]
        if slots(text) == (slot,):
            (body if slot in back.form.fields else query).setdefault(slot, str(old[column]))
    return Request("POST", back.path, tuple(query.items()) or None, tuple(body.items()))
