"""Any JSON value as a document: it stands at one place of a state, and operations are moved to that place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from simia_gym.state import State

PLACE = "/t/k/v"


def state_of(document: Any) -> State:
    return State.from_tables({"t": {"k": {"v": document}}})


def patched(document: Any, ops: Iterable[Any]) -> Any:
    """The document after operations."""
    return state_of(document).apply([below(op) for op in ops]).at(PLACE)


def below(op: Any) -> Any:
    """The operation at the document's place; what is no operation on a document stays as it is."""
    path = op.get("path") if isinstance(op, dict) else None
    return {**op, "path": f"{PLACE}{path}"} if isinstance(path, str) else op


def difference(before: Any, after: Any) -> list[dict[str, Any]]:
    """The operations by which a draft's edit leads from one document to another."""
    draft = state_of(before).draft()
    draft.edit("t", "k")["v"] = after
    return [{**op, "path": op["path"].removeprefix(PLACE)} for op in draft.commit()[1]]
