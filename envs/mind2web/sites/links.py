"""What in the file of a site does not fit together: names that lead nowhere, slots that nothing fills."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from simia_gym.envs.mind2web.sites.rows import column_at
from simia_gym.envs.mind2web.sites.spec import (
    Column,
    Draw,
    FieldSpec,
    FormSpec,
    KindSpec,
    PageSpec,
    RowsSpec,
    Shown,
    Site,
    StepSpec,
    Stop,
    TableSpec,
)
from simia_gym.envs.mind2web.sites.texts import fixed, slots
from simia_gym.errors import did_you_mean

Place = tuple[str | int, ...]
Mistake = tuple[Place, str, str]
"""Where it is in the file, what it is, and what to do."""

OPERATORS = ("=", "!=", ">=", "<=", "contains")
FEWEST = 12
"""The rows of an account table, at least."""
NEXT, PREVIOUS = "Next page", "Previous page"
OWN = ("page", "done", "refused")


def mistakes(site: Site) -> Iterator[Mistake]:
    """The mistakes of a site whose parts are well-formed."""
    for name, table in site.tables.items():
        yield from _of_table(site, name, table)
    for place, name in enumerate(site.menu):
        yield from _known(("menu", place), "page", name, site.pages)
    for name, page in site.pages.items():
        yield from _of_page(site, name, page)
    yield from _of_headings(site)
    for name, kind in site.kinds.items():
        yield from _of_kind(site, ("kinds", name), kind)


def _known(place: Place, what: str, name: str, among: Iterable[str]) -> Iterator[Mistake]:
    if name not in (known := list(among)):
        yield place, f"there is no {what} {name!r}", f"{did_you_mean(name, known)}Name one of: {', '.join(known)}."


def _texts(place: Place, text: str, knows: Callable[[str], bool]) -> Iterator[Mistake]:
    for name in slots(text):
        if not knows(name):
            yield place, f"nothing fills {{{name}}}", "Name a column, a pair of the address, or what is drawn before."
    if "{" in text.replace("{", "", len(slots(text))):
        yield place, f"a brace in {text!r} opens no slot", "Write a slot as {name}, or leave the brace out."


def _leads(site: Site, table: str | None, name: str, *, shown: bool) -> bool:
    """Whether a name leads to a column; for a text that people read, not to the bare key of another row."""
    if table is None:
        return False
    try:
        column = column_at(site, table, name)
    except KeyError:
        return False
    return column is None or not shown or column.of is None


def _of_table(site: Site, name: str, table: TableSpec) -> Iterator[Mistake]:
    place: Place = ("tables", name)
    before: dict[str, Column] = {}
    earlier = list(site.tables)[: list(site.tables).index(name)]
    for key, column in table.columns.items():
        here = (*place, "columns", key)
        if key == "key":
            yield here, "a column is not called key", "Call it otherwise."
        if isinstance(column.pool, str):
            yield from _known((*here, "pool"), "pool", column.pool, site.pools)
        if column.mix is not None:
            yield from _texts((*here, "mix"), column.mix, lambda one: one in site.pools or one in before)
        if column.of is not None:
            yield from _known((*here, "of"), "table before this one", column.of, earlier)
            if not table.account and column.of in earlier and site.tables[column.of].account:
                yield (*here, "of"), "a table of the catalogue refers to none of the account", "Refer to another."
        if column.drawn and (table.account or column.between is None):
            yield (*here, "drawn"), "only a number of the catalogue is drawn again", "Leave `drawn` out."
        before[key] = column
    if table.one:
        if not table.account or table.key is not None or "rows" in table.model_fields_set:
            yield place, "a table with one row is of the account, without `key` and `rows`", "Leave them out."
        return
    if table.account and table.rows < FEWEST:
        yield (*place, "rows"), f"a table of the account has at least {FEWEST} rows", f"Write rows: {FEWEST}."
    if table.key is None:
        yield place, "nothing tells its rows apart", "Give it a `key`, as {title}."
    else:
        yield from _texts((*place, "key"), table.key, lambda one: one in table.columns)
        if not slots(table.key):
            yield (*place, "key"), "the key names no column", "Name one, as {title}."
        if any(table.columns[one].drawn for one in slots(table.key) if one in table.columns):
            yield (*place, "key"), "a column of the key is drawn again", "Leave `drawn` out there."


def pairs_of(site: Site, name: str) -> set[str]:
    """The names of the pairs that the address of a page may have."""
    return _pairs(site, name, set())


def _pairs(site: Site, name: str, seen: set[str]) -> set[str]:
    page = site.pages[name]
    seen = {*seen, name}
    found = set(OWN)
    if page.of is not None and site.tables[page.of].each:
        found.add(site.tables[page.of].each or "")
    for other, from_page in site.pages.items():
        steps = (*from_page.steps, *(from_page.rows.steps if from_page.rows else ()))
        found.update(*(step.pairs for step in steps if step.to == name))
        form = from_page.form
        if form is not None and name in (form.to, form.then):
            found.update(form.pairs)
            if form.to == name:
                found.update(form.fields)
                if other not in seen:
                    found |= _pairs(site, other, seen)
    return found


def _of_page(site: Site, name: str, page: PageSpec) -> Iterator[Mistake]:
    place: Place = ("pages", name)
    twins = [other for other, one in site.pages.items() if one.path == page.path]
    if twins[0] != name:
        yield (*place, "path"), f"the page {twins[0]!r} has this path, too", "Give each page its own path."
    if page.of is not None and page.of not in site.tables:
        yield from _known((*place, "of"), "table", page.of, site.tables)
        return
    if page.of is not None and not site.tables[page.of].one and site.tables[page.of].each is None:
        fix = f"Write `each: {page.of.rstrip('s')}` in the table {page.of}."
        yield (*place, "of"), "nothing says how a row of this table is called in addresses", fix
    pairs = pairs_of(site, name)

    def reads(one: str) -> bool:
        return _leads(site, page.of, one, shown=True) or one in pairs

    yield from _texts((*place, "heading"), page.heading, reads)
    for number, text in enumerate(page.text):
        yield from _texts((*place, "text", number), text, reads)
    for label, text in page.facts.items():
        yield from _texts((*place, "facts", label), text, reads)
    for number, step in enumerate(page.steps):
        yield from _of_step(site, (*place, "steps", number), step, page.of, pairs)
    if page.rows is not None:
        yield from _of_rows(site, (*place, "rows"), page.rows, pairs)
    if page.form is not None:
        yield from _of_form(site, (*place, "form"), page, page.form, pairs)
    rows = page.rows.steps if page.rows else ()
    words = [site.pages[one].menu or site.pages[one].heading for one in site.menu if one in site.pages]
    words += [NEXT, PREVIOUS, *(step.words for step in page.steps), *([page.form.button] if page.form else [])]
    for word in {*words, *(step.words for step in rows)}:
        if words.count(word) + sum(step.words == word for step in rows) > 1:
            yield place, f"two things on the page are called {word!r}", "Give each its own words."


def _of_step(site: Site, place: Place, step: StepSpec, table: str | None, pairs: set[str]) -> Iterator[Mistake]:
    for number in slots(step.words):
        yield (*place, "words"), f"the words of a step have no slot such as {{{number}}}", "Leave it out."
    yield from _known((*place, "to"), "page", step.to, site.pages)
    for key, text in step.pairs.items():
        yield from _texts(
            (*place, "with", key), text, lambda one: _leads(site, table, one, shown=False) or one in pairs
        )
    if step.to in site.pages:
        yield from _has_row(site, place, step.to, set(step.pairs))


def _has_row(site: Site, place: Place, to: str, pairs: set[str]) -> Iterator[Mistake]:
    """A page of a row is asked for with its row."""
    of = site.pages[to].of
    each = site.tables[of].each if of in site.tables else None
    if of is not None and each and not site.tables[of].one and each not in pairs:
        yield place, f"the page {to!r} is that of a row, which is not named", f'Write with: {{{each}: "{{key}}"}}.'


def _of_rows(site: Site, place: Place, rows: RowsSpec, pairs: set[str]) -> Iterator[Mistake]:
    if rows.table not in site.tables:
        yield from _known((*place, "table"), "table", rows.table, site.tables)
        return
    yield from _of_where(site, (*place, "where"), rows.table, rows.where, lambda one: one in pairs)
    if rows.sort is not None:
        if slots(rows.sort):
            yield from _texts((*place, "sort"), rows.sort, lambda one: one in pairs)
        elif not _leads(site, rows.table, rows.sort.removeprefix("-"), shown=False):
            yield (*place, "sort"), f"there is no column {rows.sort.removeprefix('-')!r}", "Name a column of the table."
    for title, text in rows.columns.items():
        yield from _texts((*place, "columns", title), text, lambda one: _leads(site, rows.table, one, shown=True))
    for number, step in enumerate(rows.steps):
        yield from _of_step(site, (*place, "steps", number), step, rows.table, pairs)


def _of_where(
    site: Site, place: Place, table: str, where: Mapping[str, str], knows: Callable[[str], bool]
) -> Iterator[Mistake]:
    for column, text in where.items():
        if not _leads(site, table, column, shown=False):
            yield (*place, column), f"there is no column {column!r}", "Name a column of the table."
        operator, _, value = text.partition(" ")
        if operator not in OPERATORS or not value:
            yield (
                (*place, column),
                f"{text!r} is no condition",
                f"Begin with one of {' '.join(OPERATORS)}, and a space.",
            )
        yield from _texts((*place, column), value, knows)


def _of_form(site: Site, place: Place, page: PageSpec, form: FormSpec, pairs: set[str]) -> Iterator[Mistake]:
    labels = [field.label for field in form.fields.values()]
    for name, field in form.fields.items():
        here = (*place, "fields", name)
        if name in OWN:
            yield here, f"a field is not called {name}", "Call it otherwise."
        if labels.count(field.label) > 1:
            yield (*here, "label"), f"two fields are called {field.label!r}", "Give each its own label."
        knows = lambda one: _leads(site, page.of, one, shown=False) or one in pairs  # noqa: E731
        yield from _texts((*here, "value"), field.value, knows)
        yield from _of_choice(site, here, field)
    given = {*form.fields, *pairs}
    for name, text in form.pairs.items():
        yield from _texts(
            (*place, "with", name), text, lambda one: one in given or _leads(site, page.of, one, shown=False)
        )
    for key in ("to", "then", "undo"):
        if (name := getattr(form, key)) is not None:
            yield from _known((*place, key), "page", name, site.pages)
    if form.to in site.pages:
        yield from _has_row(site, (*place, "to"), form.to or "", given | set(form.pairs))
    if form.then in site.pages:
        yield from _has_row(site, (*place, "then"), form.then or "", set(form.pairs))
    if form.effect is not None:
        yield from _of_effect(site, place, page, form, given)
    if form.undo in site.pages and (there := site.pages[form.undo or ""].form) is not None:
        ways = {"add": "remove", "remove": "add", "change": "change"}
        back = there.effect
        if form.effect and (back is None or (back.way, back.table) != (ways[form.effect.way], form.effect.table)):
            what = f"the form of {form.undo!r} does not {ways[form.effect.way]} rows of {form.effect.table}"
            yield (*place, "undo"), what, "Name another page, or write final: true."
    elif form.undo in site.pages:
        yield (*place, "undo"), f"the page {form.undo!r} has no form", "Name another page."


def _of_choice(site: Site, place: Place, field: FieldSpec) -> Iterator[Mistake]:
    choice = field.choice
    if choice is not None and "kind" in field.model_fields_set:
        yield (*place, "kind"), "a choice has no kind", "Leave it out."
    if isinstance(choice, str):
        table, _, column = choice.partition(".")
        yield from _known((*place, "choice"), "table", table, site.tables)
        if table in site.tables and column:
            yield from _known((*place, "choice"), "column", column, site.tables[table].columns)
            spec = site.tables[table].columns.get(column)
            if spec is not None and spec.pool is None:
                fix = "Name a column with a pool, or a table with `words`."
                yield (*place, "choice"), "the column has no pool to choose from", fix
        if table in site.tables and not column:
            if field.words is None:
                yield place, "nothing says how a row is called", 'Write words: "{title}" or the like.'
            else:
                yield from _texts((*place, "words"), field.words, lambda one: _leads(site, table, one, shown=True))


def _of_effect(site: Site, place: Place, page: PageSpec, form: FormSpec, given: set[str]) -> Iterator[Mistake]:
    effect = form.effect
    assert effect is not None
    here = (*place, "effect")
    if effect.table not in site.tables:
        yield from _known((*here, effect.way), "table", effect.table, site.tables)
        return
    table = site.tables[effect.table]
    if not table.account:
        yield (*here, effect.way), "forms change only tables of the account", "Write account: true in the table."
    if effect.way != "add" and page.of != effect.table:
        yield here, f"the page is not that of a row of {effect.table}", f"Write `of: {effect.table}` in the page."
    refers = [name for name, one in site.tables.items() if any(c.of == effect.table for c in one.columns.values())]
    moves = set(slots(table.key or "")) & set(effect.row) if effect.way == "change" else effect.way == "remove"
    if moves and refers:
        fix = "Let it refer to the catalogue, or leave the form out."
        yield (*here, effect.way), f"rows of {refers[0]} refer to the row that goes", fix
    if effect.way != "change" and table.one:
        yield here, "a table with one row keeps it", "Let the form change it."
    for column, text in effect.row.items():
        yield from _known((*here, "row", column), "column", column, table.columns)
        yield from _texts(
            (*here, "row", column), text, lambda one: one in given or _leads(site, page.of, one, shown=False)
        )
    missing = set(table.columns) - set(effect.row)
    if effect.way == "add" and missing:
        yield (*here, "row"), f"a new row lacks {', '.join(sorted(missing))}", "Say the values of all columns."


def _of_headings(site: Site) -> Iterator[Mistake]:
    """Pages are told apart by the fixed words with which their headings begin."""
    for name, page in site.pages.items():
        begin = fixed(page.heading)
        for other, one in site.pages.items():
            same = one.heading.startswith(begin) if slots(page.heading) else one.heading == page.heading
            if other != name and same:
                what = f"the heading of {other!r} begins with {begin!r}, too"
                yield ("pages", name, "heading"), what, "Let headings begin with different words."


def _of_kind(site: Site, place: Place, kind: KindSpec) -> Iterator[Mistake]:
    drawn: dict[str, Draw] = {}

    def knows(one: str, *, shown: bool = True) -> bool:
        name, _, path = one.partition(".")
        draw = drawn.get(name)
        if draw is None:
            return False
        if draw.of is None:
            return not path
        return _leads(site, draw.of, path, shown=shown) if path else not shown

    for name, draw in kind.draw.items():
        yield from _of_draw(site, (*place, "draw", name), draw, lambda one: knows(one, shown=False))
        drawn[name] = draw
        if draw.of is not None and draw.of not in site.tables:
            return
    said = [set(slots(text)) for text in kind.say]
    for number, text in enumerate(kind.say):
        yield from _texts((*place, "say", number), text, knows)
        if said[number] != said[0]:
            fix = "Let all sentences of a kind say the same values."
            yield (*place, "say", number), "the sentence says other values than the first one", fix
    for number, wish in enumerate(kind.wishes):
        here = (*place, "wishes", number)
        for each, stop in enumerate(wish.route):
            last = kind.answer is not None and wish is kind.wishes[-1] and each == len(wish.route) - 1
            yield from _of_stop(site, (*here, "route", each), stop, knows, last=last)
        if wish.shown is not None:
            yield from _of_shown(site, (*here, "shown"), wish.shown, knows)
        result = wish.result
        if result is not None:
            yield from _known((*here, "result", result.way), "table", result.table, site.tables)
            if (result.key is None) != (result.way == "add"):
                fix = "Write key: with a drawn row for change and remove alone."
                yield (*here, "result"), "a row that is changed or removed has a key, a new one has none", fix
            for text in (result.key or "", *result.row.values()):
                yield from _texts((*here, "result"), text, lambda one: knows(one, shown=False))
            if result.table in site.tables:
                for column in result.row:
                    yield from _known((*here, "result", "row"), "column", column, site.tables[result.table].columns)
    if kind.answer is not None:
        yield from _texts((*place, "answer"), kind.answer, knows)
        page = site.pages.get(kind.wishes[-1].route[-1].page)
        if page is not None and isinstance(kind.read, str):
            yield from _known((*place, "read"), "fact", kind.read, page.facts)
        elif page is not None and kind.read is not None and not isinstance(kind.read, str):
            columns = page.rows.columns if page.rows else {}
            yield from _known((*place, "read", "column"), "column", kind.read.column, columns)
            yield from _cells((*place, "read", "row"), kind.read.row, columns, knows)


def _of_draw(site: Site, place: Place, draw: Draw, holds: Callable[[str], bool]) -> Iterator[Mistake]:
    if draw.unlike is not None:
        yield from _texts((*place, "unlike"), draw.unlike, holds)
    if draw.column is not None:
        table, _, column = draw.column.partition(".")
        yield from _known((*place, "column"), "table", table, site.tables)
        if table in site.tables:
            yield from _known((*place, "column"), "column", column, site.tables[table].columns)
    if draw.of is None:
        return
    yield from _known((*place, "of"), "table", draw.of, site.tables)
    if draw.of in site.tables:
        yield from _of_where(site, (*place, "where"), draw.of, draw.where, holds)
        for key, named in (("least", draw.least), ("most", draw.most), *(("alone", one) for one in draw.alone)):
            if named is not None:
                yield from _known((*place, key), "column", named, site.tables[draw.of].columns)
    if draw.without is not None:
        yield from _known((*place, "without"), "table", draw.without, site.tables)
        columns = site.tables[draw.without].columns.values() if draw.without in site.tables else ()
        if columns and all(column.of != draw.of for column in columns):
            yield (*place, "without"), f"no column of {draw.without} refers to {draw.of}", "Name another table."


def _of_stop(site: Site, place: Place, stop: Stop, knows: Callable[[str], bool], *, last: bool) -> Iterator[Mistake]:
    page = site.pages.get(stop.page)
    if page is None:
        yield from _known((*place, "page"), "page", stop.page, site.pages)
        return
    if stop.fill is not None:
        if page.form is None:
            yield (*place, "fill"), f"the page {stop.page!r} has no form", "Name another page."
        for name, text in stop.fill.items():
            if page.form is not None:
                yield from _known((*place, "fill", name), "field", name, page.form.fields)
            yield from _texts((*place, "fill", name), text, knows)
    elif stop.press is None:
        if not last:
            yield place, "nothing is done on this page", "Say what to `fill` (perhaps {}) or to `press`."
    elif stop.pick is not None:
        steps = [step.words for step in page.rows.steps] if page.rows else []
        yield from _known((*place, "press"), "step of a row", stop.press, steps)
        yield from _cells((*place, "pick"), stop.pick, page.rows.columns if page.rows else {}, knows)
    else:
        yield from _known((*place, "press"), "step", stop.press, [step.words for step in page.steps])


def _of_shown(site: Site, place: Place, shown: Shown, knows: Callable[[str], bool]) -> Iterator[Mistake]:
    page = site.pages.get(shown.page)
    if page is None:
        yield from _known((*place, "page"), "page", shown.page, site.pages)
        return
    columns = page.rows.columns if page.rows else {}
    for key, cells, among in (
        ("row", shown.row, columns),
        ("absent", shown.absent, columns),
        ("facts", shown.facts, page.facts),
    ):
        yield from _cells((*place, key), cells or {}, among, knows)


def _cells(
    place: Place, cells: Mapping[str, str] | str, among: Iterable[str], knows: Callable[[str], bool]
) -> Iterator[Mistake]:
    if isinstance(cells, Mapping):
        for name, text in cells.items():
            yield from _known((*place, name), "column or fact", name, among)
            yield from _texts((*place, name), text, knows)
