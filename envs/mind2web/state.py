"""The state that all tasks share, and its schema, both from the files of the sites."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from simia_gym.envs.mind2web.browser.themes import THEMES
from simia_gym.envs.mind2web.browser.values import is_date
from simia_gym.envs.mind2web.sites.loading import find_site, sites
from simia_gym.envs.mind2web.sites.rows import catalogue_rows, pool_of, slug_of
from simia_gym.envs.mind2web.sites.spec import Column, Site
from simia_gym.state import State
from simia_gym.types import JsonObject, Row

_DAY = r"^\d{4}-\d\d-\d\d$"
_SLUG = r"^[a-z0-9-]+$"


def tables() -> Mapping[str, Mapping[str, Any]]:
    """The catalogues of all sites; a task brings the session and the account."""
    return tables_of(sites().values())


def tables_of(some: Iterable[Site]) -> Mapping[str, Mapping[str, Any]]:
    """The same for some sites."""
    rows = {key: row for site in some for key, row in catalogue_rows(site).items()}
    return {"catalogue": rows, "account": {}, "session": {}}


def schema(some: Iterable[Site]) -> JsonObject:
    """The content of ``state.schema.json`` for some sites."""
    given = list(some)
    return {
        "tables": {
            "session": {
                "description": "One row, main: the visit. It says which page is open and what was typed on it.",
                "goal": False,
                "row": _session([site.name for site in given]),
            },
            "catalogue": {
                "description": "What the sites offer, under SITE:TABLE:NAME. Read only.",
                "row": {"anyOf": list(_rows(given, account=False))},
            },
            "account": {
                "description": "What belongs to the visitor, under SITE:TABLE:NAME; forms change it.",
                "row": {"anyOf": list(_rows(given, account=True))},
            },
        },
        "invariants": [{"id": "rows", "check": "simia_gym.envs.mind2web.state:mistakes"}],
    }


def schema_text() -> str:
    """The text of ``state.schema.json``."""
    return f"{json.dumps(schema(sites().values()), indent=2)}\n"


def _session(names: list[str]) -> JsonObject:
    text = {"type": "string"}
    properties: JsonObject = {
        "request": text,
        "site": {"enum": names},
        "theme": {"enum": [theme.name for theme in THEMES]},
        "seed": {"type": "integer"},
        "asks": {"type": "boolean"},
        "choices": {"enum": [5, 25]},
        "page": {"enum": ["whole", "published"]},
        "path": {"type": "string", "pattern": "^/"},
        "query": {
            "description": "The pairs of the address; null where it has no question mark.",
            "type": ["array", "null"],
            "items": {"type": "array", "items": text, "minItems": 2, "maxItems": 2},
        },
        "typed": {
            "description": "What was changed on the open page, by number of the element: a text, places, or a mark.",
            "type": "object",
            "additionalProperties": {"type": ["string", "boolean", "array"], "items": {"type": "integer"}},
        },
        "first": {"description": "How many elements come before the choices.", "type": "integer", "minimum": 0},
        "past": {"type": "array", "items": text},
        "notice": {"description": "Why the browser has refused the newest action; else empty.", "type": "string"},
        "answer": {"type": ["string", "null"]},
    }
    return {"type": "object", "required": list(properties), "additionalProperties": False, "properties": properties}


def _rows(some: Iterable[Site], *, account: bool) -> Iterator[JsonObject]:
    for site in some:
        for name, table in site.tables.items():
            if table.account == account:
                columns = {column: _value(site, spec) for column, spec in table.columns.items()}
                yield {
                    "title": f"{site.name}:{name}",
                    "type": "object",
                    "required": list(columns),
                    "additionalProperties": False,
                    "properties": columns,
                }


def _value(site: Site, column: Column) -> JsonObject:
    if column.kind == "number":
        whole = float(column.step).is_integer()
        return {"type": "integer" if whole else "number"}
    if column.kind == "date":
        return {"type": "string", "pattern": _DAY}
    if column.kind == "row":
        return {"description": f"A key of {column.of}.", "type": "string", "pattern": _SLUG}
    return {"type": "string"} if column.pool is None else {"enum": list(pool_of(site, column))}


def mistakes(state: State, touched: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What of some rows does not fit the file of their site: keys, columns, and references to other rows."""
    for table, key in touched:
        row = state.get(table, key)
        if row is not None and table in ("catalogue", "account"):
            yield from (f"{table} {key!r}: {wrong}" for wrong in _wrong(state, table, key, row))


def _wrong(state: State, held: str, key: str, row: Row) -> Iterator[str]:
    parts = key.split(":")
    try:
        site = find_site(parts[0])
    except LookupError as error:
        yield str(error)
        return
    table = site.tables.get(parts[1]) if len(parts) == 3 else None
    if table is None or table.account != (held == "account"):
        yield "no site has such a table"
        return
    if row.keys() != table.columns.keys():
        yield f"its columns are {', '.join(table.columns)}"
        return
    if slug_of(table, row) != parts[2]:
        yield f"its content makes the key {slug_of(table, row)!r}"
    for column, spec in table.columns.items():
        if not _fits(site, spec, row[column]):
            yield f"{row[column]!r} is no value of {column}"
        elif spec.of is not None:
            where = "account" if site.tables[spec.of].account else "catalogue"
            if not state.has(where, f"{site.name}:{spec.of}:{row[column]}"):
                yield f"{row[column]!r} is no key of {spec.of}"


def _fits(site: Site, column: Column, value: Any) -> bool:
    if column.kind == "number":
        whole = float(column.step).is_integer()
        return isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not isinstance(value, str):
        return False
    if column.kind == "date":
        return is_date(value)
    return column.pool is None or value in pool_of(site, column)
