"""The files of a state as documents, for a page of a record."""

from __future__ import annotations

from functools import cache
from html import escape

from simia_gym.domain.domain import Domain
from simia_gym.envs.os.machine import tables
from simia_gym.state import State
from simia_gym.types import Row

_MOST = 20_000


@cache
def _base() -> dict[str, Row]:
    return {path: row for table in ("files", "scratch") for path, row in tables()[table].items()}


def looks(domain: Domain, state: State) -> list[tuple[str, str]]:
    """The files and links that are not those with which every task begins, by path."""
    base = _base()
    return [
        (path, _document(row))
        for table in ("files", "scratch")
        for path, row in state.rows(table)
        if row["kind"] in ("file", "link") and base.get(path) != row
    ]


def _document(row: Row) -> str:
    if row["kind"] == "link":
        return f"<p>A link to <code>{escape(row['target'])}</code></p>"
    text = row["text"]
    more = f"<p>… {len(text) - _MOST} more characters</p>" if len(text) > _MOST else ""
    return f"<p>mode {escape(row['mode'])}</p><pre>{escape(text[:_MOST])}</pre>{more}"
