"""What a model sees for a call: the choices and where they lead, what the form does, and the rows of the pages.

The rows are those of the open page and of the page that the call may lead to. Of a list of the catalogue there are only
the rows that are shown; the table ``found`` says which, and how many fit. `RULES` says in words what an action does to
the session's row, so that nobody needs the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simia_gym.envs.mind2web import screen
from simia_gym.envs.mind2web.browser import acting
from simia_gym.envs.mind2web.browser.acting import Refusal, Typing
from simia_gym.envs.mind2web.browser.page import Node
from simia_gym.envs.mind2web.browser.requests import Pairs, Request
from simia_gym.envs.mind2web.browser.tree import text, walk
from simia_gym.envs.mind2web.browser.values import is_field, words
from simia_gym.envs.mind2web.screen import Opened
from simia_gym.envs.mind2web.sites.pages import Found, Visit, blocks, listing, row_of
from simia_gym.envs.mind2web.sites.rows import Shelf, WatchedShelf, whole_key
from simia_gym.envs.mind2web.sites.spec import FormSpec, PageSpec
from simia_gym.state import State
from simia_gym.types import JsonObject, Row, ToolCall

VIEWS: tuple[JsonObject, ...] = tuple(
    {"view": f"simia_gym.envs.mind2web.slices:{table}", "table": table}
    for table in ("choices", "forms", "found", "catalogue", "account")
)
RULES = """
Every action sets first to 0 and notice to '', and adds `element -> CLICK`, `element -> SELECT: value` or
`element -> TYPE: value` to past. What `opens` an address sets path and query and empties typed. What `marks` elements,
has `options` (label: place) or is `typed` into sets typed at the number of the element: to the mark, to the list of the
place, to the text. What `sends_by_post` does the effect of the form on the table account, with slots filled from the
pairs, else from the query, else from its own row (key: its last part); a flag that is not sent is no, and numbers are
numbers. Then it opens `then`; but if the new key exists already, its own address with the pair refused=exists behind.
A slug has small letters and digits, and one hyphen for all that stands between. What is `refused` sets notice alone.
more adds choices to first, or sets it to 0 where the elements end, and sets notice to ''. done sets answer alone.
""".replace("\n", " ").strip()


def choices(state: State, call: ToolCall) -> dict[str, Any]:
    """The choices by their letters, what each does, and what the page is."""
    session, opened = _open(state)
    nodes = screen.choices_of(opened, session).nodes
    rows: dict[str, Any] = {letter: _does(opened, session, node) for letter, node in nodes.items()}
    heading = next(text(element) for element in walk(opened.page.body) if element.tag == "h1")
    return {"page": {"heading": heading, "elements": len(opened.actable), "rules": RULES}, **rows}


def forms(state: State, call: ToolCall) -> dict[str, Any]:
    """The form of the open page that has an effect, if there is one."""
    session = screen.session_of(state)
    shelf, visit = screen.shelf_of(state, session), screen.visit_of(session)
    name = shelf.site.paths.get(visit.path, "")
    page = shelf.site.pages.get(name)
    if page is None or page.form is None or page.form.effect is None:
        return {}
    return {name: _form(name, page, page.form, visit, shelf)}


def found(state: State, call: ToolCall) -> dict[str, Any]:
    """Which rows of the catalogue the lists on the pages show, and how many fit, by the address."""
    session = screen.session_of(state)
    shelf = screen.shelf_of(state, session)
    return {visit.address: row for visit in _visits(state, call) if (row := _listed(visit, shelf)) is not None}


def catalogue(state: State, call: ToolCall) -> dict[str, Row]:
    """The rows of the catalogue on the pages, with the columns that are read."""
    return _rows(state, call, "catalogue")


def account(state: State, call: ToolCall) -> dict[str, Row]:
    """The rows of the account on the pages."""
    return _rows(state, call, "account")


def changes_tables(state: State, call: ToolCall) -> bool:
    """Whether a call sends a form that has an effect."""
    request = _request(state, call)
    return request is not None and request.method == "POST"


def _open(state: State) -> tuple[Row, Opened]:
    session = screen.session_of(state)
    return session, screen.open_page(state, session)


def _request(state: State, call: ToolCall) -> Request | None:
    """What a click asks for."""
    if call.name != "click":
        return None
    session, opened = _open(state)
    node = screen.choices_of(opened, session).nodes.get(str(call.arguments.get("choice", "")).strip().upper())
    outcome = None if node is None else acting.click(opened.page, session["typed"], node.number)
    return outcome if isinstance(outcome, Request) else None


def _visits(state: State, call: ToolCall) -> Iterator[Visit]:
    """The open page, and where the call may lead."""
    session = screen.session_of(state)
    yield screen.visit_of(session)
    request = _request(state, call)
    if request is None:
        return
    yield Visit(request.path, request.query, session["seed"])
    site = screen.shelf_of(state, session).site
    page = site.pages.get(site.paths.get(request.path, ""))
    if request.method == "POST" and page is not None and page.form is not None and page.form.then is not None:
        yield Visit(site.pages[page.form.then].path, None, session["seed"])


def _does(opened: Opened, session: Row, node: Node) -> JsonObject:
    """What is done with an element."""
    page, typed, number = opened.page, session["typed"], node.number
    does: JsonObject = {"element": opened.line(node)}
    if node.kind == "list":
        labels = [text(option) for option, _ in page.options(number)]
        return {
            **does,
            "number": str(number),
            "options": {label: place for place, label in reversed([*enumerate(labels)])},
        }
    if is_field(node):
        limits = {name: value for name, value in node.element.attributes if name not in ("name", "id", "aria-label")}
        return {**does, "number": str(number), "typed": limits | {"value": words(page, number, typed)}}
    outcome = acting.click(page, typed, number)
    if isinstance(outcome, Refusal):
        return {**does, "refused": outcome.reason}
    if isinstance(outcome, Typing):
        return {**does, "marks": {name: value for name, value in outcome.typed.items() if typed.get(name) != value}}
    target: JsonObject = {"path": outcome.path, "query": _listed_pairs(outcome.query)}
    if outcome.method == "POST":
        return {**does, "sends_by_post": target | {"pairs": _listed_pairs(outcome.body)}}
    return {**does, "opens": target}


def _listed_pairs(pairs: Pairs | None) -> list[list[str]] | None:
    return None if pairs is None else [list(pair) for pair in pairs]


def _form(name: str, page: PageSpec, form: FormSpec, visit: Visit, shelf: Shelf) -> JsonObject:
    effect, site = form.effect, shelf.site
    assert effect is not None
    table = site.tables[effect.table]
    own = row_of(page, visit, shelf)
    flags = [one for one, field in form.fields.items() if field.kind == "flag"]
    numbers = [column for column in effect.row if table.columns[column].kind == "number"]
    row: JsonObject = {
        "effect": effect.way,
        "row": dict(effect.row),
        "key": whole_key(site, effect.table, "main" if table.one else f"slug of {table.key}"),
        "then": {
            "path": site.pages[form.then or ""].path,
            "query": [*(list(pair) for pair in form.pairs.items()), ["done", name]],
        },
    }
    if page.of is not None and own is not None:
        row["own"] = whole_key(site, page.of, own[0])
    return row | ({"flags": flags} if flags else {}) | ({"numbers": numbers} if numbers else {})


def _listed(visit: Visit, shelf: Shelf) -> JsonObject | None:
    page = shelf.site.pages.get(shelf.site.paths.get(visit.path, ""))
    if page is None or page.rows is None or shelf.site.tables[page.rows.table].account:
        return None
    shown = listing(page.rows, visit, shelf)
    return {"keys": list(shown.keys), "total": shown.total}


def _rows(state: State, call: ToolCall, held: str) -> dict[str, Row]:
    session = screen.session_of(state)
    shelf = screen.shelf_of(state, session)
    watched = WatchedShelf(shelf.site, state.table("catalogue"), state.table("account"))
    for visit in _visits(state, call):
        blocks(visit, watched, _known(_listed(visit, shelf)))
    _see_new(_request(state, call), watched)
    found: dict[str, Row] = {}
    for (table, key), columns in watched.seen.items():
        row = state.get(table, key)
        if table == held and row is not None:
            found[key] = row if held == "account" else {name: row[name] for name in row if name in columns}
    return found


def _known(listed: JsonObject | None) -> Found | None:
    """What `found` says of the only list of a page."""
    return None if listed is None else lambda address: (tuple(listed["keys"]), listed["total"])


def _see_new(request: Request | None, watched: WatchedShelf) -> None:
    """Looks into the whole rows to which a new row may refer, because the next page may show any column of theirs."""
    site = watched.site
    page = None if request is None else site.pages.get(site.paths.get(request.path, ""))
    if request is None or request.method != "POST" or page is None or page.form is None or page.form.effect is None:
        return
    given = {value for _, value in (*(request.query or ()), *(request.body or ()))}
    for table in {column.of for column in site.tables[page.form.effect.table].columns.values() if column.of}:
        for key in given:
            row = watched.row(table, key)
            for name in row or ():
                watched.value(table, key, row or {}, name)
