"""Paths of files: one spelling for each, below the office's folder."""

from __future__ import annotations

import posixpath

from simia_gym.envs.officebench.texts import problem_of
from simia_gym.errors import ToolError

ROOT = "/testbed"
"""The folder in which all files lie; a path that does not begin with a slash begins here."""
ANSWER = f"{ROOT}/data/answer.txt"
"""The file in which the benchmark looks for the answer."""
KINDS = {".xlsx": "xlsx", ".docx": "docx", ".pdf": "pdf", ".txt": "txt", ".png": "image", ".jpg": "image"}
"""The kind of a file by the end of its name."""


def normalised(path: str) -> str:
    """The one spelling of a path: absolute, without ``.``, ``..`` and repeated slashes."""
    whole = posixpath.normpath(posixpath.join(ROOT, path.strip()))
    return "/" + whole.lstrip("/")


def path_for(path: str, kind: str, failed: str) -> str:
    """The path at which a file of a kind may be written.

    Raises:
        ToolError: ``bad_path``: it lies outside the office's folder, or its end is not that of the kind.
    """
    whole = normalised(path)
    ends = [end for end, one in KINDS.items() if one == kind]
    if problem := problem_of(path, lines=False):
        raise ToolError(failed, "bad_path", f"The path {problem}.")
    if not whole.startswith(f"{ROOT}/"):
        raise ToolError(failed, "bad_path", f"Files lie below {ROOT}, and {whole} does not.")
    if posixpath.splitext(whole)[1].lower() not in ends:
        raise ToolError(failed, "bad_path", f"The name of such a file ends with {' or '.join(ends)}.")
    return whole
