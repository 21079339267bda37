"""The pages of a site: an address and the rows of a state become the blocks of a page, which a theme draws.

A page depends on its address, on the rows, and on the seed of their order alone, never on what a task wants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from simia_gym.envs.mind2web.browser.requests import Pairs, encode
from simia_gym.envs.mind2web.browser.themes import Block, Field, Form, Heading, Rows, Step, Steps, Words
from simia_gym.envs.mind2web.browser.values import is_date, is_number
from simia_gym.envs.mind2web.sites.links import NEXT, OWN, PREVIOUS
from simia_gym.envs.mind2web.sites.rows import Shelf, column_at, pool_of, written
from simia_gym.envs.mind2web.sites.spec import FieldSpec, FormSpec, PageSpec, RowsSpec, Site, StepSpec
from simia_gym.envs.mind2web.sites.texts import filled, long_date, parts
from simia_gym.types import Row

FINAL = "This cannot be undone."
NOTHING = "Nothing found."
NO_PAGE, NO_ROW = "There is no such page", "There is no such entry"
REFUSED: Mapping[str, str] = {
    "exists": "Nothing was done: there is such an entry already.",
    "gone": "Nothing was done: there is no such entry.",
    "wrong": "Nothing was done: a value does not fit.",
}
"""What a page says after a form that the site has refused, by the value of ``refused`` in its address."""


class Visit(NamedTuple):
    """Where a visit stands.

    Attributes:
        path: The path of the address.
        query: The pairs of its query; None without a question mark.
        seed: The order of rows follows from it.
    """

    path: str
    query: Pairs | None
    seed: int

    @property
    def pairs(self) -> dict[str, str]:
        """The pairs of the address; the first of a name counts."""
        found: dict[str, str] = {}
        for name, value in self.query or ():
            found.setdefault(name, value)
        return found

    @property
    def address(self) -> str:
        """The address as it is written."""
        return address(self.path, self.query)


class Listed(NamedTuple):
    """The rows that a page of rows shows.

    Attributes:
        keys: Their slugs.
        total: How many fit, on all pages.
        number: The number of the page, from 1.
        pages: The number of pages.
    """

    keys: tuple[str, ...]
    total: int
    number: int
    pages: int


Found = Callable[[str], tuple[tuple[str, ...], int] | None]
"""What a page of rows shows, by its address, where not all of its rows are there: their slugs, and the total."""


def address(path: str, pairs: Pairs | None) -> str:
    """A path with its query."""
    return path if pairs is None else f"{path}?{encode(pairs)}"


def row_of(page: PageSpec, visit: Visit, shelf: Shelf) -> tuple[str, Row] | None:
    """The row of a page of a row, with its slug; None where there is none."""
    if page.of is None:
        return None
    table = shelf.site.tables[page.of]
    key = "main" if table.one else visit.pairs.get(table.each or "", "")
    row = shelf.row(page.of, key)
    return None if row is None else (key, row)


def blocks(visit: Visit, shelf: Shelf, found: Found | None = None) -> tuple[Block, ...]:
    """What stands on the page of an address, from the top.

    Args:
        visit: The address.
        shelf: The rows.
        found: For a part of a state: which rows a page of rows shows.
    """
    site = shelf.site
    name = site.paths.get(visit.path)
    menu = _menu(site)
    if name is None:
        return menu, Heading(NO_PAGE)
    page = site.pages[name]
    own = row_of(page, visit, shelf)
    if page.of is not None and own is None:
        return menu, Heading(NO_ROW)
    return (menu, *_content(name, page, visit, shelf, own, found))


def _content(
    name: str, page: PageSpec, visit: Visit, shelf: Shelf, own: tuple[str, Row] | None, found: Found | None
) -> list[Block]:
    site, pairs = shelf.site, visit.pairs

    def shown(slot: str) -> str:
        if own is not None and page.of is not None and _is_column(site, page.of, slot):
            return shelf.shown(page.of, *own, slot)
        value = pairs.get(slot, "")
        return long_date(value) if is_date(value) else value

    def raw(slot: str) -> str:
        if own is not None and page.of is not None and _is_column(site, page.of, slot):
            return str(shelf.value(page.of, *own, slot))
        return pairs.get(slot, "")

    parts: list[Block] = [Heading(filled(page.heading, shown))]
    if notice := _notice(site, pairs):
        parts.append(Words(notice))
    parts += [Words(filled(text, shown)) for text in page.text]
    if page.facts:
        cells = tuple([filled(text, shown) for text in page.facts.values()])
        parts.append(Rows(tuple(page.facts), ((cells, ()),)))
    if page.rows is not None:
        parts += _rows(name, page.rows, visit, shelf, found)
    if page.form is not None:
        parts += _form(page, page.form, visit, shelf, raw)
    if page.steps:
        parts.append(Steps(tuple([_step(site, step, raw) for step in page.steps])))
    return parts


def _menu(site: Site) -> Steps:
    pages = [site.pages[name] for name in site.menu]
    return Steps(tuple([Step(page.menu or page.heading, page.path) for page in pages]))


def _notice(site: Site, pairs: Mapping[str, str]) -> str:
    done = site.pages.get(pairs.get("done", ""))
    if done is not None and done.form is not None and done.form.done is not None:
        return done.form.done
    return REFUSED.get(pairs.get("refused", ""), "")


def _step(site: Site, step: StepSpec, raw: Callable[[str], str]) -> Step:
    pairs = tuple([(name, filled(text, raw)) for name, text in step.pairs.items()])
    return Step(step.words, address(site.pages[step.to].path, pairs or None))


def _is_column(site: Site, table: str, slot: str) -> bool:
    return slot == "key" or slot.partition(".")[0] in site.tables[table].columns


def _rows(name: str, rows: RowsSpec, visit: Visit, shelf: Shelf, found: Found | None) -> list[Block]:
    listed = listing(rows, visit, shelf, found)
    parts: list[Block] = [Words(_said(name, listed, visit, shelf))]
    if listed.keys:
        parts.append(Rows(tuple(rows.columns), tuple(_rows_shown(rows, shelf, listed.keys, visit.pairs))))
    kept = [pair for pair in visit.query or () if pair[0] not in OWN]
    turns = [
        Step(words, address(visit.path, (*kept, ("page", str(number)))))
        for words, number in ((PREVIOUS, listed.number - 1), (NEXT, listed.number + 1))
        if 1 <= number <= listed.pages
    ]
    return [*parts, Steps(tuple(turns))] if turns else parts


def _rows_shown(
    rows: RowsSpec, shelf: Shelf, keys: tuple[str, ...], pairs: Mapping[str, str]
) -> Iterator[tuple[tuple[str, ...], tuple[Step, ...]]]:
    """The cells of each row, and its steps."""
    site, table = shelf.site, rows.table
    cells = [
        (pieces := parts(text), [(name, column_at(site, table, name)) for name in pieces[1::2]])
        for text in rows.columns.values()
    ]
    for key in keys:
        row = shelf.row(table, key)
        if row is None:
            raise LookupError(f"there is no row {key!r} in {table}")

        def raw(slot: str, key: str = key, row: Row = row) -> str:
            if _is_column(site, table, slot):
                return str(shelf.value(table, key, row, slot))
            return pairs.get(slot, "")

        shown = []
        for pieces, places in cells:
            text = pieces[0]
            for place, (name, column) in enumerate(places, start=1):
                text += written(column, shelf.value(table, key, row, name)) + pieces[2 * place]
            shown.append(text)
        yield tuple(shown), tuple([_step(site, step, raw) for step in rows.steps])


def listing(rows: RowsSpec, visit: Visit, shelf: Shelf, found: Found | None = None) -> Listed:
    """The rows that a page of rows shows, and how many there are.

    Args:
        rows: What the page says of its rows.
        visit: The address.
        shelf: The rows.
        found: As for `blocks`.
    """
    given = found(visit.address) if found is not None else None
    fitting = None if given is not None else _fitting(rows, visit, shelf)
    total = given[1] if given is not None else len(fitting or ())
    pages = max(1, -(-total // rows.per))
    asked = visit.pairs.get("page", "")
    number = min(max(int(asked), 1), pages) if asked.isascii() and asked.isdecimal() and len(asked) < 6 else 1
    if given is not None:
        return Listed(given[0], total, number, pages)
    return Listed(tuple((fitting or ())[(number - 1) * rows.per : number * rows.per]), total, number, pages)


def _fitting(rows: RowsSpec, visit: Visit, shelf: Shelf) -> list[str]:
    pairs, table = visit.pairs, rows.table
    tests = []
    for column, condition in rows.where.items():
        operator, _, text = condition.partition(" ")
        value = filled(text, lambda slot: pairs.get(slot, "")).strip()
        if value:
            tests.append((column, condition_of(shelf.site, table, column, operator, value)))
    held = shelf.rows(table, visit.seed)
    kept = [
        (key, row) for key, row in held if all(test(shelf.value(table, key, row, column)) for column, test in tests)
    ]
    sort = filled(rows.sort or "", lambda slot: pairs.get(slot, ""))
    column = sort.removeprefix("-")
    if column and column != "key" and _is_column(shelf.site, table, column):
        kept.sort(key=lambda one: _order(shelf.value(table, one[0], one[1], column)), reverse=sort.startswith("-"))
    return [key for key, _ in kept]


def _order(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def condition_of(site: Site, table: str, column: str, operator: str, value: str) -> Callable[[Any], bool]:
    """A condition of `where` as a function of a value of the column.

    Args:
        site: The site.
        table: The table.
        column: The column, as ``book.year``.
        operator: One of `OPERATORS`.
        value: The text with which it is compared.
    """
    spec = column_at(site, table, column)
    wanted: Any = value.casefold()
    if operator == "contains":
        return lambda held: wanted in str(held).casefold()
    if spec is not None and spec.kind == "number":
        if not is_number(value):
            return lambda held: False
        wanted = float(value)
        held_as: Callable[[Any], Any] = float
    else:
        held_as = lambda held: str(held).casefold()  # noqa: E731
    if operator == "=":
        return lambda held: bool(held_as(held) == wanted)
    if operator == "!=":
        return lambda held: bool(held_as(held) != wanted)
    if operator == ">=":
        return lambda held: bool(held_as(held) >= wanted)
    return lambda held: bool(held_as(held) <= wanted)


def _said(name: str, listed: Listed, visit: Visit, shelf: Shelf) -> str:
    """What was asked for, and how much was found."""
    fields = shelf.site.asked.get(name, {})
    said = [
        f"{fields[one].label}: {_spoken(fields[one], value, shelf, visit.seed)}."
        for one, value in visit.pairs.items()
        if one in fields and value
    ]
    count = NOTHING if not listed.total else f"{listed.total} found"
    if listed.total:
        count += f", page {listed.number} of {listed.pages}." if listed.pages > 1 else "."
    return " ".join([*said, count])


def _spoken(field: FieldSpec, value: str, shelf: Shelf, seed: int) -> str:
    if field.kind == "date" and is_date(value):
        return long_date(value)
    return dict(options(field, shelf, seed)).get(value, value) if field.choice is not None else value


def options(field: FieldSpec, shelf: Shelf, seed: int) -> tuple[tuple[str, str], ...]:
    """The options of a choice: pairs of value and text; empty for another field."""
    choice, site = field.choice, shelf.site
    if choice is None:
        return ()
    if isinstance(choice, Mapping):
        return tuple(choice.items())
    if not isinstance(choice, str):
        return tuple((words, words) for words in choice)
    table, _, column = choice.partition(".")
    if column:
        return tuple((words, words) for words in pool_of(site, site.tables[table].columns[column]))
    words = field.words or ""
    rows = shelf.rows(table, seed)
    return tuple(
        [(key, filled(words, lambda slot: shelf.shown(table, key, row, slot))) for key, row in rows]  # noqa: B023
    )


def _form(page: PageSpec, form: FormSpec, visit: Visit, shelf: Shelf, raw: Callable[[str], str]) -> list[Block]:
    pairs = visit.pairs
    fields: list[Field] = []
    for name, field in form.fields.items():
        value = filled(field.value, raw) if field.value else pairs.get(name, "")
        fields.append(_field(name, field, value, options(field, shelf, visit.seed)))
    if form.to is None:
        kept = tuple(pair for pair in visit.query or () if pair[0] not in OWN)
        target = address(visit.path, kept or None)
        note: list[Block] = [Words(FINAL)] if form.final else []
        return [*note, Form(target, tuple(fields), form.button, "post")]
    given = {name: filled(text, raw) for name, text in form.pairs.items()}
    hidden = {name: value for name, value in pairs.items() if name not in OWN and name not in form.fields} | given
    fields += [Field(name, "", "hidden", value=value) for name, value in hidden.items()]
    return [Form(shelf.site.pages[form.to].path, tuple(fields), form.button)]


def _field(name: str, field: FieldSpec, value: str, choices: tuple[tuple[str, str], ...]) -> Field:
    if field.choice is not None:
        value = value if any(value == one for one, _ in choices) else ""
        return Field(name, field.label, "choice", choices, value, field.required)
    limits = tuple([(limit, str(bound)) for limit, bound in field.limits.items()])
    return Field(name, field.label, field.kind, (), value, field.required, limits)
