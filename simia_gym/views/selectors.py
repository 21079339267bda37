"""Selectors: a tool's declaration of the rows that it reads.

    orders                                  the whole table
    orders/{order_id}                       the row with that key; a list argument gives several
    users/{/orders/{order_id}/user_id}      the row whose key is a value in the state
    users?email={email}                     rows whose field equals a value; the case of texts is ignored
    users?name/first_name={a}&address/zip={b}      rows that meet every condition
    products?variants/{item_id}             rows in which this path exists
    products#name,variants/*/price          columns: only these paths of each row

The object form ``{"table", "key" | "where", "columns", "cut"}`` is equivalent, but its texts may contain the separators
as plain characters. With ``"cut": N``, a text of more than N characters is shown by its beginning.
``{"view": "package.module:function", "table": name}`` is a computed table: the function gets the state and the call and
returns rows by key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from simia_gym.errors import InputError
from simia_gym.views.placeholders import Step, Template, arguments_of, parse_steps, parse_template, split_outside

_FORM = "Write table, table/key, table?field=value or table?place, with #column,column behind it if you like."
_KEYS = ("table", "key", "where", "columns", "cut", "view")

Path: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a row.

    Attributes:
        path: A path in the row.
        value: The value that the row must have at the path; ``None`` if the path must only exist.
    """

    path: Path
    value: Template | None


@dataclass(frozen=True, slots=True)
class Selector:
    """Selects rows of one table.

    Attributes:
        source: The selector as written in the declaration.
        table: The table.
        key: Keys of the rows; ``None`` for rows of any key.
        where: The conditions, all of which a row must meet.
        columns: Paths of a row that are included; the whole row if empty.
        cut: Number of characters after which a text in a row is cut off; ``None`` for no such number.
        view: Name of the function that computes the table, if one does.
    """

    source: str
    table: str
    key: Template | None = None
    where: tuple[Condition, ...] = ()
    columns: tuple[Path, ...] = ()
    cut: int | None = None
    view: str | None = None

    def arguments(self) -> Iterator[str]:
        """Names of the arguments that it uses."""
        for template in self._templates():
            yield from template.arguments()
        for path in (*(item.path for item in self.where), *self.columns):
            yield from arguments_of(path)

    def tables(self) -> Iterator[str]:
        """Names of the tables of the state that it reads; computed tables are not among them."""
        if self.view is None:
            yield self.table
        for template in self._templates():
            yield from template.tables()

    def _templates(self) -> Iterator[Template]:
        if self.key is not None:
            yield self.key
        yield from (item.value for item in self.where if item.value is not None)


def parse_selector(value: Any, where: str) -> Selector:
    """Parse a selector, text or object; ``where`` is the tool that declares it.

    Raises:
        InputError: The selector is invalid; the message names the tool and the selector.
    """
    if isinstance(value, str):
        return _from_text(value, f"{where}, reads {value!r}")
    if isinstance(value, Mapping):
        return _from_object(value, f"{where}, reads {dict(value)!r}")
    raise InputError(f"{value!r} is no selector", where=f"{where}, reads", fix=_FORM)


def _from_text(text: str, where: str) -> Selector:
    rows, *columns = split_outside(text, "#")
    if len(columns) > 1:
        raise InputError("has two parts with columns", where=where, fix=_FORM)
    place, *conditions = split_outside(rows, "?")
    if len(conditions) > 1:
        raise InputError("has two parts with conditions", where=where, fix="Put & between conditions.")
    table, slash, key = place.partition("/")
    where_ = split_outside(conditions[0], "&") if conditions else []
    return _made(text, table, key if slash else None, where_, split_outside(columns[0], ",") if columns else [], where)


def _from_object(value: Mapping[str, Any], where: str) -> Selector:
    for name in value:
        if name not in _KEYS:
            raise InputError(f"a selector has no key {name!r}", where=where, fix=f"Keys: {', '.join(_KEYS)}.")
    table = _table(value.get("table"), where)
    source = str(dict(value))
    if "view" in value:
        view = value["view"]
        if not isinstance(view, str) or ":" not in view:
            fix = "Write package.module:function."
            raise InputError(f"view {view!r} names no function", where=where, fix=fix)
        if set(value) - {"view", "table"}:
            raise InputError("a view takes no key, where, columns or cut", where=where, fix="Let the function choose.")
        return Selector(source, table, view=view)
    key, conditions, columns = value.get("key"), value.get("where", []), value.get("columns", [])
    conditions = [conditions] if isinstance(conditions, str) else conditions
    for name, given in (("where", conditions), ("columns", columns)):
        if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
            raise InputError(f"{name} is {given!r}", where=where, fix="Give a list of texts.")
    if key is not None and not isinstance(key, str):
        raise InputError(f"key is {key!r}", where=where, fix="Give a text.")
    cut = value.get("cut")
    if cut is not None and (not isinstance(cut, int) or isinstance(cut, bool) or cut < 1):
        raise InputError(f"cut is {cut!r}", where=where, fix="Give a number of characters, at least 1.")
    return replace(_made(source, table, key, conditions, columns, where), cut=cut)


def _made(source: str, table: str, key: str | None, conditions: list[str], columns: list[str], where: str) -> Selector:
    if key == "":
        raise InputError("has an empty key", where=where, fix=_FORM)
    return Selector(
        source,
        _table(table, where),
        None if key is None else parse_template(key, where),
        tuple(_condition(each, where) for each in conditions),
        tuple(_path(each, where) for each in columns),
    )


def _table(name: Any, where: str) -> str:
    if not isinstance(name, str) or not name or set(name) & set("{}/?#*"):
        raise InputError(f"{name!r} is no name of a table", where=where, fix=_FORM)
    if name.startswith("_"):
        fix = "Keep what a tool needs in a table with another name."
        raise InputError(f"{name!r} is private: nothing but code sees tables with _", where=where, fix=fix)
    return name


def _condition(text: str, where: str) -> Condition:
    path, *rest = split_outside(text, "=")
    value = parse_template("=".join(rest), where) if rest else None
    return Condition(_path(path, where), value)


def _path(text: str, where: str) -> Path:
    return parse_steps(text.removeprefix("/"), where)
