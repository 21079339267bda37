"""File locks that ensure a single writer per file."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def take_lock(descriptor: int, path: Path) -> bool:
    """Lock an open file until it is closed; do not wait for the lock.

    Args:
        descriptor: File descriptor of the open file.
        path: Path of the file. Another process may have replaced the file since it was opened.

    Returns:
        Whether the lock was taken and the path still names this file. Always true on Windows, which has no ``flock``.

    Raises:
        OSError: The system refuses the lock.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False
