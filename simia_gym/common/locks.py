"""One writer a file: whoever appends to a file that others must not touch takes this lock on it first."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def take_lock(descriptor: int, path: Path) -> bool:
    """Lock an open file until it is closed, without waiting for it.

    Args:
        descriptor: The open file.
        path: Where it lies; another file may have taken its place there since it was opened.

    Returns:
        Whether the file at the path is this one and nobody else has it locked. Where the system has no advisory locks,
        that is taken for granted.

    Raises:
        OSError: The system refuses.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False
