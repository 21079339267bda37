"""What the tools of all apps use: reading and writing files of a kind, and users."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from simia_gym.envs.officebench.paths import KINDS, normalised, path_for
from simia_gym.envs.officebench.slices import known_user
from simia_gym.errors import ToolError
from simia_gym.state import Draft
from simia_gym.types import Row

CONVERTING = "Failed to convert the file."
"""How the error of a conversion begins."""


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


def document(kind: str, paragraphs: Sequence[str]) -> Mapping[str, Any]:
    """The row of a file of paragraphs."""
    return {"kind": kind, "paragraphs": list(paragraphs)}


def new_file(db: Draft, path: str, kind: str, failed: str) -> str:
    """The path of a file that is made.

    Raises:
        ToolError: ``exists``: there is one; ``bad_path``: see `path_for`.
    """
    whole = path_for(path, kind, failed)
    if db.has("files", whole):
        raise ToolError(failed, "exists", f"There is a file {whole} already.")
    return whole


def converted(db: Draft, source: str, paragraphs: Sequence[str], target: str, kind: str) -> str:
    """Make a file of the paragraphs of another one; gives the observation."""
    path = new_file(db, target, kind, CONVERTING)
    db.put("files", path, document(kind, paragraphs))
    return f"Successfully convert {source} to {path}"
