"""What the invariants of both databases look at: touched rows, and lists that users keep of what is theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simia_gym.state import State
from simia_gym.types import Row

Touched = Iterable[tuple[str, str]]


def touched_rows(state: State, touched: Touched, table: str) -> Iterator[tuple[str, Row]]:
    """The touched rows of a table that still exist, with their keys."""
    for name, key in touched:
        row = state.get(name, key) if name == table else None
        if row is not None:
            yield key, row


def unlisted(state: State, touched: Touched, table: str) -> Iterator[str]:
    """What differs between the rows of a table that belong to users, and the users' lists, which have its name."""
    noun = table.removesuffix("s")
    for key, row in touched_rows(state, touched, table):
        user = state.get("users", row["user_id"])
        if user is not None and key not in user[table]:
            yield f"{noun} {key} is missing in the {table} of {row['user_id']}"
    for key, owner in touched_rows(state, touched, "users"):
        for listed_id in owner[table]:
            listed = state.get(table, listed_id)
            if listed is not None and listed["user_id"] != key:
                yield f"{key} lists {noun} {listed_id}, which belongs to {listed['user_id']}"
