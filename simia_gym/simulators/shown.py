"""Whether everything that a call names was shown to the model that answers it, so that it cannot say ``not_found``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from simia_gym.domain.tools import ToolSpec
from simia_gym.state import identical
from simia_gym.types import Row, ToolCall
from simia_gym.views.selectors import Selector
from simia_gym.views.slices import Slice

NOT_FOUND = "not_found"


def contradicts_shown(code: str, spec: ToolSpec, call: ToolCall, reads: Iterable[Selector], shown: Slice) -> str:
    """Why an error contradicts the rows that the model was shown; empty if it may be right.

    Only what is certain counts: one row of the state has every argument of the call, as its key where a selector says
    so, or else under the argument's own name. The same text under another name proves nothing, because the tool does
    not look there. A further argument, or a table without a row, may be what the tool has missed; but not an argument
    that is one of a few values which the tool lists, as nothing is looked up by it.
    """
    sought = {name: value for name, value in call.arguments.items() if not _listed(spec, name)}
    if code != NOT_FOUND or not sought or shown.missing or not all(shown.tables.values()):
        return ""
    selectors = list(reads)
    for table in {each.table: None for each in selectors if each.view is None}:
        keyed = {name for each in selectors if each.table == table and each.key for name in each.key.arguments()}
        found = [
            key
            for key, row in shown.tables.get(table, {}).items()
            if all(
                (name in keyed and key == value) or any(identical(one, value) for one in _under(name, row))
                for name, value in sought.items()
            )
        ]
        if len(found) == 1:
            return f"error_code is {NOT_FOUND!r}, but the row {found[0]!r} of {table!r} was shown to you: it is there"
    return ""


def _listed(spec: ToolSpec, name: str) -> bool:
    """Whether the tool lists the values that an argument can have."""
    schema = spec.parameters.get("properties", {}).get(name)
    return isinstance(schema, Mapping) and ("enum" in schema or "const" in schema or schema.get("type") == "boolean")


def _under(name: str, row: Row) -> list[Any]:
    """The value that a row has under a name: its own, or the only one within it; empty if there is no such value."""
    if name in row:
        return [row[name]]
    found = list(_within(name, row))
    return found if len(found) == 1 else []


def _within(name: str, value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        if name in value:
            yield value[name]
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _within(name, item)
