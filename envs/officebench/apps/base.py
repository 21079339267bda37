"""What the tools of all apps use: reading and writing files of a kind, and users."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from simia_gym.envs.officebench.paths import KINDS, normalised
from simia_gym.envs.officebench.slices import known_user
from simia_gym.errors import ToolError
from simia_gym.state import Draft
from simia_gym.types import Row


def existing(db: Draft, path: str, kind: str, failed: str) -> tuple[str, Row]:
    """The path and the row of a file that must be there.

    Raises:
        ToolError: ``no_file``: there is none; ``wrong_kind``: it is a file of another kind.
    """
    whole = normalised(path)
    row = db.get("files", whole)
    if row is None:
        why = f"There is no file {whole}. Look at the path in the task."
        raise ToolError(f"The file {path} does not exist. {failed}", "no_file", why)
    if row["kind"] != kind:
        named = posixpath.splitext(whole)[1] or "no end"
        why = f"{whole} has the end {named}; this app opens {' and '.join(e for e, k in KINDS.items() if k == kind)}."
        raise ToolError(failed, "wrong_kind", why)
    return whole, row


def user_of(db: Draft, name: str, failed: str) -> str:
    """The user of a name or mail address.

    Raises:
        ToolError: ``unknown_user``: there is none.
    """
    user = known_user(db, name)
    if user is None:
        known = ", ".join(key for key, _ in db.rows("people"))
        raise ToolError(failed, "unknown_user", f"There is no user {name!r}. Known: {known}.")
    return user


def document(kind: str, paragraphs: list[str]) -> Mapping[str, Any]:
    """The row of a file of paragraphs."""
    return {"kind": kind, "paragraphs": paragraphs}
