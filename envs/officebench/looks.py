"""Tables, documents, mails and calendars of an office as documents, for a page of a record."""

from __future__ import annotations

from html import escape
from itertools import groupby, islice

from simia_gym.domain.domain import Domain
from simia_gym.envs.officebench.cells import grid, shown
from simia_gym.state import State
from simia_gym.types import Row

_STYLE = "<style>table{border-collapse:collapse}td,th{border:1px solid #999;padding:.2em .5em}</style>"
_MOST = 500


def looks(domain: Domain, state: State) -> list[tuple[str, str]]:
    """Each file, each mailbox and each calendar."""
    files = [(path, _file(row)) for path, row in state.rows("files")]
    return [*files, *_mailboxes(state), *_calendars(state)]


def _file(row: Row) -> str:
    if row.get("cells"):
        return _STYLE + _sheet(row["cells"])
    return "".join(f"<p>{escape(text)}</p>" for text in row.get("paragraphs", ())) or f"<p>({escape(row['kind'])})</p>"


def _sheet(cells: Row) -> str:
    """The cells as a table, with the numbers of rows."""
    lines = []
    for number, row in islice(grid(cells), _MOST):
        columns = "".join(f"<td>{'' if value is None else escape(shown(value))}</td>" for _, value in row)
        lines.append(f"<tr><th>{number}</th>{columns}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _mailboxes(state: State) -> list[tuple[str, str]]:
    mails = sorted((row for _, row in state.rows("mails")), key=lambda row: row["user"])
    return [
        (f"mailbox of {user}", "".join(map(_mail, rows))) for user, rows in groupby(mails, key=lambda row: row["user"])
    ]


def _mail(row: Row) -> str:
    head = "".join(f"<b>{name}</b> {escape(row[name.lower()])}<br>" for name in ("From", "To", "Subject"))
    return f"<article><p>{head}</p><pre style='white-space:pre-wrap'>{escape(row['content'])}</pre><hr></article>"


def _calendars(state: State) -> list[tuple[str, str]]:
    events = sorted((row for _, row in state.rows("events")), key=lambda row: (row["user"], row["start"]))
    names = ("start", "end", "summary", "location", "description")
    head = "".join(f"<th>{name}</th>" for name in names)
    found = []
    for user, rows in groupby(events, key=lambda row: row["user"]):
        lines = "".join(f"<tr>{''.join(f'<td>{escape(row[name])}</td>' for name in names)}</tr>" for row in rows)
        found.append((f"calendar of {user}", f"{_STYLE}<table><tr>{head}</tr>{lines}</table>"))
    return found
