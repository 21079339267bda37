"""Whether what was drawn is a sound task: rows that are picked are the only ones, and wishes show only in the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simia_gym.envs.mind2web.sites.rows import Shelf
from simia_gym.envs.mind2web.sites.spec import RowsSpec, Shown
from simia_gym.envs.mind2web.work.drawing import DrawAgainError, Drawn
from simia_gym.envs.mind2web.work.sentences import known, matched
from simia_gym.envs.mind2web.work.ways import Way, row_told
from simia_gym.types import Row


def check(drawn: Drawn, ways: Sequence[Way], slots: Mapping[str, str], end: Mapping[str, Row | None]) -> None:
    """Check a task.

    Args:
        drawn: What was drawn.
        ways: The ways of its wishes.
        slots: What its sentence says.
        end: The rows that are different in the end.

    Raises:
        DrawAgainError: It is none.
    """
    pages, last = drawn.site.pages, ways[-1].legs[-1]
    for way in ways:
        for leg in way.legs:
            rows = pages[leg.page].rows
            if rows is not None and leg.pick is not None and leg.pick != "first":
                _check_one(drawn.shelf, rows, row_told(drawn.site, rows, leg.pick, leg.pairs))
    read, rows = drawn.kind.read, pages[last.page].rows
    if read is not None and not isinstance(read, str) and read.row != "first" and rows is not None:
        cells = {name: known(text, slots) or "" for name, text in read.row.items()}
        _check_one(drawn.shelf, rows, row_told(drawn.site, rows, cells, last.pairs))
    after = drawn.after(end)
    for way in ways:
        if way.wish.shown is not None:
            if _is_shown(drawn.shelf, way.wish.shown, way.shown):
                raise DrawAgainError("a wish is done at first")
            if not _is_shown(after, way.wish.shown, way.shown):
                raise DrawAgainError("a wish does not show in the end")


def _check_one(shelf: Shelf, rows: RowsSpec, told: Mapping[str, str]) -> None:
    if sum(_tells(shelf, rows.table, key, row, told) for key, row in shelf.rows(rows.table, 0)) != 1:
        raise DrawAgainError(f"not exactly one row of {rows.table} has {dict(told)}")


def _tells(shelf: Shelf, table: str, key: str, row: Row, told: Mapping[str, str]) -> bool:
    return all(shelf.shown(table, key, row, slot) == text for slot, text in told.items())


def _is_shown(shelf: Shelf, shown: Shown, wanted: Mapping[str, str]) -> bool:
    page = shelf.site.pages[shown.page]
    if shown.facts is not None:
        found = [matched(page.facts[name], text) or {} for name, text in wanted.items()]
        row = shelf.row(page.of or "", "main")
        return row is not None and all(_tells(shelf, page.of or "", "main", row, told) for told in found)
    assert page.rows is not None
    told = row_told(shelf.site, page.rows, wanted, {})
    table = page.rows.table
    return any(_tells(shelf, table, key, row, told) for key, row in shelf.rows(table, 0)) == (shown.row is not None)
