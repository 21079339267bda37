"""File locks that ensure a single writer per file."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def take_lock(descriptor: int, path: Path) -> bool:
    """Lock an open file until it is closed; do not wait for the lock.

    Returns:
        Whether the lock was taken and the path still names this file, which another process may have replaced since it
        was opened. Always true on Windows, which has no ``flock``.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False
