"""What a site does with a request: it shows a page, or does what a form asks for and leads to the next page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from simia_gym.envs.mind2web.browser.requests import Pairs, Request
from simia_gym.envs.mind2web.browser.values import is_date, is_number, length
from simia_gym.envs.mind2web.sites.links import OWN
from simia_gym.envs.mind2web.sites.pages import Visit, options, row_of
from simia_gym.envs.mind2web.sites.rows import Shelf, pool_of, slug_of, whole_key
from simia_gym.envs.mind2web.sites.spec import Column, Effect, FieldSpec, FormSpec, PageSpec
from simia_gym.envs.mind2web.sites.texts import filled
from simia_gym.types import JsonObject

_LONGEST = 200


class Answer(NamedTuple):
    """The answer to a request.

    Attributes:
        path: The path of the page that is open then.
        query: The pairs of its query.
        changes: Rows of the account by whole key, None for one that is removed, in their order.
    """

    path: str
    query: Pairs | None
    changes: Mapping[str, JsonObject | None]


class _Refused(Exception):
    """The form is refused; its text is a key of `REFUSED`."""


def answer(request: Request, shelf: Shelf, seed: int) -> Answer:
    """Answers a request.

    Args:
        request: The request. What it posts is checked as if it came from anywhere.
        shelf: The rows.
        seed: The order of rows follows from it.
    """
    name = shelf.site.paths.get(request.path)
    page = None if name is None else shelf.site.pages[name]
    if name is None or page is None or request.method != "POST" or page.form is None or page.form.effect is None:
        return Answer(request.path, request.query, {})
    try:
        return _done(name, page, page.form, page.form.effect, request, shelf, seed)
    except _Refused as refused:
        kept = tuple(pair for pair in request.query or () if pair[0] not in OWN)
        return Answer(request.path, (*kept, ("refused", str(refused))), {})


def _done(
    name: str, page: PageSpec, form: FormSpec, effect: Effect, request: Request, shelf: Shelf, seed: int
) -> Answer:
    site, table = shelf.site, shelf.site.tables[effect.table]
    visit = Visit(request.path, request.query, seed)
    own = row_of(page, visit, shelf)
    if page.of is not None and own is None:
        raise _Refused("gone")
    sent = _sent(form, dict(request.body or ()), shelf, seed)
    pairs = {**visit.pairs, **sent}

    def value(slot: str) -> str:
        if slot in pairs:
            return pairs[slot]
        return str(shelf.value(page.of or "", *own, slot)) if own is not None else ""

    changes: dict[str, JsonObject | None] = {}
    key = own[0] if own is not None else ""
    if effect.way == "remove":
        changes[whole_key(site, effect.table, key)] = None
    else:
        before = own[1] if own is not None and effect.way == "change" else {}
        new = {column: _value(table.columns[column], filled(text, value), shelf) for column, text in effect.row.items()}
        row = {column: new[column] if column in new else before[column] for column in table.columns}
        fresh = slug_of(table, row)
        if (effect.way == "add" or fresh != key) and shelf.row(effect.table, fresh) is not None:
            raise _Refused("exists")
        if not fresh:
            raise _Refused("wrong")
        if effect.way == "change" and fresh != key:
            changes[whole_key(site, effect.table, key)] = None
        changes[whole_key(site, effect.table, fresh)] = row
        key = fresh
    further = tuple([(one, filled(text, _then(key, value))) for one, text in form.pairs.items()])
    return Answer(site.pages[form.then or ""].path, (*further, ("done", name)), changes)


def _then(key: str, value: Callable[[str], str]) -> Callable[[str], str]:
    return lambda slot: key if slot == "key" else value(slot)


def _sent(form: FormSpec, body: Mapping[str, str], shelf: Shelf, seed: int) -> dict[str, str]:
    """The values of the fields, which fit."""
    found: dict[str, str] = {}
    for name, field in form.fields.items():
        value = body.get(name, "").strip()
        if field.kind == "flag":
            value = "yes" if value == "yes" else "no"
        elif not _fits(field, value, shelf, seed):
            raise _Refused("wrong")
        found[name] = value
    return found


def _fits(field: FieldSpec, value: str, shelf: Shelf, seed: int) -> bool:
    if not value:
        return not field.required
    if field.choice is not None:
        return any(value == one for one, _ in options(field, shelf, seed))
    low, high = field.limits.get("min"), field.limits.get("max")
    if field.kind == "number":
        return is_number(value) and all(
            (low is None or float(low) <= float(value), high is None or float(value) <= float(high))
        )
    if field.kind == "date":
        return is_date(value) and (low is None or str(low) <= value) and (high is None or value <= str(high))
    return length(value) <= int(field.limits.get("maxlength", _LONGEST))


def _value(column: Column, text: str, shelf: Shelf) -> Any:
    """The value of a column that a text stands for."""
    if column.kind == "number":
        if not is_number(text):
            raise _Refused("wrong")
        number = float(text)
        return int(number) if number.is_integer() and float(column.step).is_integer() else number
    right = {
        "date": lambda: is_date(text),
        "row": lambda: shelf.row(column.of or "", text) is not None,
        "text": lambda: column.pool is None or text in pool_of(shelf.site, column),
    }
    if not right[column.kind]():
        raise _Refused("wrong")
    return text
