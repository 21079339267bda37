"""The rows of a site: how they are drawn, what their keys are, and how texts look into them.

A row lies under ``SITE:TABLE:SLUG`` in the table ``catalogue`` or ``account`` of the state. Its slug follows from its
content, so that the same content has the same key whenever it was added.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from functools import lru_cache
from typing import Any
from zlib import crc32

from simia_gym.envs.mind2web.sites.spec import Column, Site, TableSpec
from simia_gym.envs.mind2web.sites.texts import filled, long_date, slots, slug
from simia_gym.errors import InputError
from simia_gym.state.table import Table
from simia_gym.types import JsonObject, Row

_TRIES = 2_000


class Shelf:
    """The rows of a site in a state, to look into.

    Args:
        site: The site.
        catalogue: The state's table ``catalogue``.
        account: The state's table ``account``.
    """

    def __init__(self, site: Site, catalogue: Table | None, account: Table | None) -> None:
        self.site = site
        self._catalogue, self._account = catalogue, account

    def row(self, table: str, key: str) -> Row | None:
        """A row of a table by its slug, or None."""
        held = self._held(table)
        return None if held is None else held.get(f"{self.site.name}:{table}:{key}")

    def rows(self, table: str, seed: int) -> tuple[tuple[str, Row], ...]:
        """The rows of a table with their slugs, in an order that follows from the seed."""
        held = self._held(table)
        return () if held is None else _in_order(held, f"{self.site.name}:{table}:", seed)

    def _held(self, table: str) -> Table | None:
        return self._account if self.site.tables[table].account else self._catalogue

    def value(self, table: str, key: str, row: Row, name: str) -> Any:
        """The value of a column (``year``), of a column of another row (``book.title``), or the slug (``key``).

        Raises:
            KeyError: There is no such column, or no such other row.
        """
        if name == "key":
            return key
        if name in row:
            return row[name]
        first, _, rest = name.partition(".")
        found = row[first]
        target = self.site.tables[table].columns[first].of or ""
        other = self.row(target, found)
        if other is None:
            raise KeyError(found)
        return self.value(target, found, other, rest)

    def shown(self, table: str, key: str, row: Row, name: str) -> str:
        """The same as people write it."""
        return written(column_at(self.site, table, name), self.value(table, key, row, name))


class WatchedShelf(Shelf):
    """A shelf that notes which rows are looked into.

    Attributes:
        seen: The columns that were read, by table of the state and whole key.
    """

    def __init__(self, site: Site, catalogue: Table | None, account: Table | None) -> None:
        super().__init__(site, catalogue, account)
        self.seen: dict[tuple[str, str], set[str]] = {}

    def row(self, table: str, key: str) -> Row | None:
        """As in `Shelf`."""
        self._note(table, key)
        return super().row(table, key)

    def rows(self, table: str, seed: int) -> tuple[tuple[str, Row], ...]:
        """As in `Shelf`."""
        found = super().rows(table, seed)
        for key, _ in found:
            self._note(table, key)
        return found

    def value(self, table: str, key: str, row: Row, name: str) -> Any:
        """As in `Shelf`."""
        self._note(table, key).add(name.partition(".")[0])
        return super().value(table, key, row, name)

    def _note(self, table: str, key: str) -> set[str]:
        held = "account" if self.site.tables[table].account else "catalogue"
        return self.seen.setdefault((held, whole_key(self.site, table, key)), set())


def _table_of(key: str, row: Row) -> tuple[str, ...]:
    return (key[: key.rindex(":") + 1],)


# States share the tables that have not changed.
@lru_cache(maxsize=512)
def _in_order(held: Table, begin: str, seed: int) -> tuple[tuple[str, Row], ...]:
    keys = {
        *held.base.index("table of the site", _table_of).get(begin, ()),
        *[key for layer in held.layers for key in layer.entries if key.startswith(begin)],
    }
    first, size = crc32(f"{seed} ".encode()), len(begin)
    ordered = sorted([(crc32(key.encode(), first), key) for key in keys])
    return tuple([(key[size:], row) for _, key in ordered if (row := held.get(key)) is not None])


def column_at(site: Site, table: str, name: str) -> Column | None:
    """The column that a name leads to, as ``book.title``; None for ``key``.

    Raises:
        KeyError: There is none.
    """
    if name == "key":
        return None
    first, _, rest = name.partition(".")
    column = site.tables[table].columns[first]
    if not rest:
        return column
    if column.of is None:
        raise KeyError(name)
    return column_at(site, column.of, rest)


def written(column: Column | None, value: Any) -> str:
    """A value of a column as people write it."""
    if column is None:
        return str(value)
    if column.date is not None:
        return long_date(value)
    if column.between is not None and not float(column.step).is_integer():
        return f"{value:.2f}"
    return str(value)


def slug_of(table: TableSpec, row: Row) -> str:
    """The slug of a row, from what it holds."""
    if table.one or table.key is None:
        return "main"
    return slug(filled(table.key, lambda name: str(row[name])))


def whole_key(site: Site, table: str, key: str) -> str:
    """The key of a row in the state."""
    return f"{site.name}:{table}:{key}"


def catalogue_rows(site: Site) -> dict[str, JsonObject]:
    """The rows of the site's catalogue by whole key; always the same."""
    rows: dict[str, JsonObject] = {}
    for name, table in site.tables.items():
        if not table.account:
            rng = random.Random(f"{site.name} {name}")
            _draw_table(site, name, table, rng, rows)
    return rows


def redrawn_rows(site: Site, rng: random.Random, catalogue: Mapping[str, Row]) -> dict[str, JsonObject]:
    """For a task, the rows of the catalogue with new values in the columns that are drawn again, by whole key.

    Args:
        site: The site.
        rng: Draws them.
        catalogue: The rows of the catalogue, by whole key.
    """
    again = {
        table: [(name, column) for name, column in spec.columns.items() if column.drawn]
        for table, spec in site.tables.items()
    }
    return {
        key: {**row, **{name: value_of(site, column, rng, {}, {}) for name, column in columns}}
        for key, row in catalogue.items()
        if (columns := again[key.split(":")[1]])
    }


def account_rows(site: Site, rng: random.Random, catalogue: Mapping[str, Row]) -> dict[str, JsonObject]:
    """For a task, the rows of the site's account by whole key.

    Args:
        site: The site.
        rng: Draws them.
        catalogue: The rows of the catalogue, by whole key.
    """
    rows: dict[str, Any] = dict(catalogue)
    for name, table in site.tables.items():
        if table.account:
            _draw_table(site, name, table, rng, rows)
    return {key: row for key, row in rows.items() if key not in catalogue}


def _draw_table(site: Site, name: str, table: TableSpec, rng: random.Random, rows: dict[str, JsonObject]) -> None:
    """Adds the rows of a table. Of an account, a third are like an earlier one but for one column of their key."""
    keys: list[str] = []
    told = [part for part in slots(table.key or "") if "." not in part]
    others = {column.of: list(slugs(site, column.of, rows)) for column in table.columns.values() if column.of}

    def value(column: Column, row: Row) -> Any:
        return rng.choice(others[column.of]) if column.of else value_of(site, column, rng, row, rows)

    for number in range(table.rows):
        for _ in range(_TRIES):
            if table.account and number % 3 == 2 and told:
                row = dict(rows[whole_key(site, name, rng.choice(keys))])
                again = rng.choice(told)
                row[again] = value(table.columns[again], row)
            else:
                row = {}
                for column, spec in table.columns.items():
                    row[column] = value(spec, row)
            key = slug_of(table, row)
            if key and key not in keys:
                break
        else:
            what = f"no {table.rows} different rows can be drawn for the table {name} of {site.name}"
            raise InputError(what, where=f"sites: {site.name}: tables.{name}", fix="Ask for fewer, or give more words.")
        keys.append(key)
        rows[whole_key(site, name, key)] = row


def value_of(site: Site, column: Column, rng: random.Random, row: Row, rows: Mapping[str, Row]) -> Any:
    """Draws a value of a column.

    Args:
        site: The site.
        column: The column.
        rng: Draws it.
        row: The columns before it.
        rows: The rows that were drawn before, by whole key.
    """
    if column.pool is not None:
        return rng.choice(pool_of(site, column))
    if column.mix is not None:
        return filled(column.mix, lambda name: str(row[name]) if name in row else rng.choice(site.pools[name]))
    if column.digits is not None:
        return "".join(str(rng.randint(0, 9)) if sign == "#" else sign for sign in column.digits)
    if column.between is not None:
        low, high = column.between
        value = low + rng.randint(0, round((high - low) / column.step)) * column.step
        return int(value) if float(column.step).is_integer() and float(low).is_integer() else round(value, 2)
    if column.date is not None:
        first, last = (date.fromisoformat(day) for day in column.date)
        return (first + timedelta(days=rng.randint(0, (last - first).days))).isoformat()
    return rng.choice(list(slugs(site, column.of or "", rows)))


def pool_of(site: Site, column: Column) -> tuple[str, ...]:
    """The words of a column that has a pool."""
    pool = column.pool or ()
    return site.pools[pool] if isinstance(pool, str) else pool


def slugs(site: Site, table: str, rows: Mapping[str, Row]) -> Iterator[str]:
    """The slugs of a table among rows by whole key."""
    begin = f"{site.name}:{table}:"
    return (key.removeprefix(begin) for key in rows if key.startswith(begin))
