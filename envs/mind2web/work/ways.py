"""The way of a wish with what a sentence says, and what a reader knows of each of its pages before it comes there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from simia_gym.envs.mind2web.sites.rows import column_at
from simia_gym.envs.mind2web.sites.spec import FormSpec, PageSpec, RowsSpec, Site, StepSpec, Wish
from simia_gym.envs.mind2web.sites.texts import filled
from simia_gym.envs.mind2web.work.sentences import known, matched

Pick = Mapping[str, str] | Literal["first"] | None


class Leg(NamedTuple):
    """One stop of a way.

    Attributes:
        page: The name of its page.
        fill: What is filled into its form, by field; None where no form is sent.
        pick: The cells of the row whose step is taken.
        press: The words of the step or of the form's button; None where one only looks.
        rows: What is known of the row that the page shows, by slots of texts.
        sure: Whether the page's row is the wanted one if it has these values.
        pairs: The pairs of its address; None for a value that cannot be known.
    """

    page: str
    fill: Mapping[str, str] | None
    pick: Pick
    press: str | None
    rows: Mapping[str, str]
    sure: bool
    pairs: Mapping[str, str | None]


class Way(NamedTuple):
    """A wish with what a sentence says: its legs, and the cells or facts that show that it is done."""

    wish: Wish
    legs: tuple[Leg, ...]
    shown: Mapping[str, str]

    def effect(self, site: Site) -> FormSpec | None:
        """The form that fulfils the wish."""
        forms = [site.pages[leg.page].form for leg in self.legs if leg.fill is not None]
        return next((form for form in forms if form is not None and form.effect is not None), None)


def way_of(site: Site, wish: Wish, slots: Mapping[str, str]) -> Way:
    """The way of a wish.

    Raises:
        ValueError: The sentence lacks a value that a page needs.
    """
    shown = {} if wish.shown is None else wish.shown.row or wish.shown.absent or wish.shown.facts or {}
    return Way(wish, tuple(_legs(site, wish, slots)), {name: _said(text, slots) for name, text in shown.items()})


def _said(template: str, slots: Mapping[str, str]) -> str:
    text = known(template, slots)
    if text is None:
        raise ValueError(f"the sentence does not say {template!r}")
    return text


def _legs(site: Site, wish: Wish, slots: Mapping[str, str]) -> Iterator[Leg]:
    rows: dict[str, dict[str, str]] = {}
    sure: set[str] = {name for name, table in site.tables.items() if table.one}
    pairs: dict[str, str | None] = {}
    for stop in wish.route:
        page = site.pages[stop.page]
        fill = None if stop.fill is None else {name: _said(text, slots) for name, text in stop.fill.items()}
        pick = (
            {name: _said(text, slots) for name, text in stop.pick.items()} if isinstance(stop.pick, dict) else stop.pick
        )
        press = page.form.button if fill is not None and page.form is not None else stop.press
        table = page.of or ""
        yield Leg(stop.page, fill, pick, press, rows.get(table, {}), page.of is None or table in sure, dict(pairs))
        if page.form is not None and fill is not None:
            kept = pairs if page.form.to is not None else {}
            pairs = {**kept, **{name: fill.get(name, "") for name in page.form.fields}}
            pairs |= {name: _at(text, rows.get(table, {}), pairs) for name, text in page.form.pairs.items()}
            continue
        if pick is not None and page.rows is not None:
            table = page.rows.table
            rows[table] = row_told(site, page.rows, pick, pairs)
            sure = sure | {table} if pick != "first" else sure - {table}
        step = next((one for one in _steps(page, pick) if one.words == press), None)
        if step is not None:
            pairs = {name: _at(text, rows.get(table, {}), pairs) for name, text in step.pairs.items()}


def _steps(page: PageSpec, pick: Pick) -> tuple[StepSpec, ...]:
    return page.steps if pick is None or page.rows is None else page.rows.steps


def _at(template: str, row: Mapping[str, str], pairs: Mapping[str, str | None]) -> str | None:
    """The value of a pair; None where a slot of it cannot be known."""

    def value(slot: str) -> str:
        found = row.get(slot, pairs.get(slot))
        if found is None:
            raise KeyError(slot)
        return found

    try:
        return filled(template, value)
    except KeyError:
        return None


def row_told(site: Site, rows: RowsSpec, pick: Pick, pairs: Mapping[str, str | None]) -> dict[str, str]:
    """What the cells of a row, and the filter that it fits, tell about it, by slots of texts."""
    found: dict[str, str] = {}
    for column, condition in rows.where.items():
        operator, _, template = condition.partition(" ")
        text = _at(template, {}, pairs)
        # The key of another row is not shown.
        told = column_at(site, rows.table, column)
        if operator == "=" and text and (told is None or told.of is None):
            found[column] = text
    for name, text in pick.items() if isinstance(pick, Mapping) else ():
        found |= matched(rows.columns[name], text) or {}
    return found
