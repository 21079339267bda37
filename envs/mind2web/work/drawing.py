"""What is drawn for a task: the rows of the account, the values of its kind, and what is different in the end."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.envs.mind2web.sites.pages import condition_of
from simia_gym.envs.mind2web.sites.rows import (
    Shelf,
    account_rows,
    redrawn_rows,
    slug_of,
    slugs,
    value_of,
    whole_key,
    written,
)
from simia_gym.envs.mind2web.sites.spec import Draw, KindSpec, Result, Site
from simia_gym.envs.mind2web.sites.texts import filled, slots
from simia_gym.state import State, make_pointer
from simia_gym.types import Op, Row

_TRIES = 100


class DrawAgainError(LookupError):
    """What was drawn does not fit together, such as a kind of which two are cheapest."""


class Drawn:
    """The rows and values of a task.

    Args:
        rng: Draws them.
        site: The site.
        base: A state that holds its catalogue.
        kind: The kind of task.

    Attributes:
        setup: The operations that put the rows into the state.
        state: The state with them.
        catalogue: The rows of the catalogue, by whole key.
        account: The rows of the account, by whole key.
        values: What was drawn, by the names of the kind: keys of rows without what all have, and values of columns.
    """

    def __init__(self, rng: random.Random, site: Site, base: State, kind: KindSpec) -> None:
        self.site, self.kind, self._rng = site, kind, rng
        catalogue = dict(base.rows("catalogue"))
        redrawn = redrawn_rows(site, rng, catalogue)
        self.catalogue: dict[str, Row] = {**catalogue, **redrawn}
        self.account: dict[str, Row] = dict(account_rows(site, rng, self.catalogue))
        self.setup: list[Op] = [
            {"op": op, "path": make_pointer(table, key), "value": row}
            for op, table, rows in (("replace", "catalogue", redrawn), ("add", "account", self.account))
            for key, row in rows.items()
        ]
        self.state = base.apply(self.setup)
        self.shelf = Shelf(site, self.state.table("catalogue"), self.state.table("account"))
        self.values: dict[str, Any] = {}
        self._keys: dict[str, Sequence[str]] = {}
        self._counts: dict[tuple[str, tuple[str, ...]], Counter[tuple[Any, ...]]] = {}

    def draw(self) -> None:
        """Draw the values anew.

        Raises:
            DrawAgainError: They do not fit together.
        """
        self.values.clear()
        for name, draw in self.kind.draw.items():
            self.values[name] = self._draw(draw)

    def text(self, name: str) -> str:
        """A value as people write it: ``until``, or ``book.title``."""
        first, _, path = name.partition(".")
        draw, value = self.kind.draw[first], self.values[first]
        if draw.of is not None:
            row = self.shelf.row(draw.of, value)
            assert row is not None
            return self.shelf.shown(draw.of, value, row, path or "key")
        if draw.column is None:
            return str(value)
        table, _, column = draw.column.partition(".")
        return written(self.site.tables[table].columns[column], value)

    def raw(self, template: str) -> Any:
        """A value as rows hold it, or a text of such values."""
        names = slots(template)
        return (
            self._raw(names[0])
            if template == f"{{{''.join(names)}}}"
            else filled(template, lambda one: str(self._raw(one)))
        )

    def _raw(self, name: str) -> Any:
        first, _, path = name.partition(".")
        draw, value = self.kind.draw[first], self.values[first]
        if not path:
            return value
        assert draw.of is not None
        row = self.shelf.row(draw.of, value)
        assert row is not None
        return self.shelf.value(draw.of, value, row, path)

    def rows(self, table: str) -> Mapping[str, Row]:
        """All rows of the account or of the catalogue, whichever a table belongs to, by whole key."""
        return self.account if self.site.tables[table].account else self.catalogue

    def keys(self, table: str) -> Sequence[str]:
        """The keys of a table without what all of them have."""
        if table not in self._keys:
            self._keys[table] = list(slugs(self.site, table, self.rows(table)))
        return self._keys[table]

    def _draw(self, draw: Draw) -> Any:
        for _ in range(_TRIES):
            value = self._one(draw)
            if draw.unlike is None or str(value) != str(self.raw(draw.unlike)):
                return value
        raise DrawAgainError(f"nothing is unlike {draw.unlike}")

    def _one(self, draw: Draw) -> Any:
        if draw.among is not None:
            return self._rng.choice(draw.among)
        if draw.column is not None:
            table, _, column = draw.column.partition(".")
            return value_of(self.site, self.site.tables[table].columns[column], self._rng, {}, self.catalogue)
        table = draw.of or ""
        fitting = [key for key in self.keys(table) if self._fits(table, key, draw)]
        if draw.least or draw.most:
            fitting = self._extreme(table, fitting, draw)
        free = [key for key in fitting if not draw.without or not self._refers(draw.without, table, key)]
        free = [key for key in free if self._is_alone(table, key, draw.alone)]
        if not free:
            raise DrawAgainError(f"no row of {table} fits")
        alike = [key for key in free if self._has_like(table, key)]
        return self._rng.choice(alike or free)

    def _fits(self, table: str, key: str, draw: Draw) -> bool:
        row = self.rows(table)[whole_key(self.site, table, key)]
        for column, condition in draw.where.items():
            operator, _, template = condition.partition(" ")
            test = condition_of(self.site, table, column, operator, str(self.raw(template)))
            if not test(self.shelf.value(table, key, row, column)):
                return False
        return True

    def _extreme(self, table: str, keys: list[str], draw: Draw) -> list[str]:
        """The one row with the least or greatest value; none where two have it."""
        rows = self.rows(table)
        column = draw.least or draw.most or ""
        values = {key: rows[whole_key(self.site, table, key)][column] for key in keys}
        if len(keys) < 2:
            raise DrawAgainError(f"too few rows of {table} to be the first among")
        end = min(values.values()) if draw.least else max(values.values())
        return found if len(found := [key for key in keys if values[key] == end]) == 1 else []

    def _refers(self, other: str, table: str, key: str) -> bool:
        """Whether a row of another table refers to a row."""
        columns = [name for name, column in self.site.tables[other].columns.items() if column.of == table]
        rows = self.rows(other)
        held = (rows[whole_key(self.site, other, one)] for one in self.keys(other))
        return any(row[column] == key for row in held for column in columns)

    def _is_alone(self, table: str, key: str, columns: tuple[str, ...]) -> bool:
        return not columns or self._alike(table, key, columns) == 1

    def _alike(self, table: str, key: str, columns: tuple[str, ...]) -> int:
        """How many rows have the same values in some columns, itself included."""
        rows = self.rows(table)
        if (table, columns) not in self._counts:
            held = [rows[whole_key(self.site, table, one)] for one in self.keys(table)]
            self._counts[table, columns] = Counter(tuple(row[column] for column in columns) for row in held)
        own = rows[whole_key(self.site, table, key)]
        return self._counts[table, columns][tuple(own[column] for column in columns)]

    def _has_like(self, table: str, key: str) -> bool:
        """Whether each column of the key of an account's row has a value that another row has, too."""
        spec = self.site.tables[table]
        told = [name for name in slots(spec.key or "") if "." not in name]
        return not spec.account or all(self._alike(table, key, (name,)) > 1 for name in told)

    def end(self) -> dict[str, Row | None]:
        """The rows of the account that differ in the end, by whole key; None for one that is gone."""
        rows = dict(self.account)
        for wish in self.kind.wishes:
            if wish.result is not None:
                self._apply(wish.result, rows)
        found = {key: rows.get(key) for key in (*self.account, *rows) if rows.get(key) != self.account.get(key)}
        if any(wish.result is not None for wish in self.kind.wishes) and not found:
            raise DrawAgainError("nothing would be different")
        return found

    def after(self, end: Mapping[str, Row | None]) -> Shelf:
        """The rows in the end, to look into."""
        ops = [
            {"op": "remove", "path": make_pointer("account", key)}
            if row is None
            else {"op": "add", "path": make_pointer("account", key), "value": row}
            for key, row in end.items()
        ]
        return Shelf(self.site, self.state.table("catalogue"), self.state.apply(ops).table("account"))

    def _apply(self, result: Result, rows: dict[str, Row]) -> None:
        table, name = self.site.tables[result.table], result.table
        key = whole_key(self.site, name, "" if result.key is None else str(self.raw(result.key)))
        if result.way == "remove":
            del rows[key]
            return
        new = {column: typed(self.site, name, column, self.raw(text)) for column, text in result.row.items()}
        if result.way == "change":
            new = {**rows.pop(key), **new}
        own = whole_key(self.site, name, slug_of(table, new))
        if own in rows:
            raise DrawAgainError(f"there is a row {own} already")
        rows[own] = new


def typed(site: Site, table: str, column: str, value: Any) -> Any:
    """A value as a row holds it in this column."""
    if site.tables[table].columns[column].between is None or not isinstance(value, str):
        return value
    return float(value) if "." in value else int(value)
