"""Memory of a training on processors: what was given back is kept for the next step.

glibc asks the system for every large block anew and gives it back when it is freed. A training step makes and frees
thousands of them, all as large as those of the step before, and a fifth of its time goes to the system's handing out
pages that are filled with zeros. What is kept comes in pieces, though, which the next step's sizes do not quite fit,
and there are more of them all the time: so now and then all of it is given back.
"""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4  # of <malloc.h>
_MOST = 2**31 - 1
_PAD = 256 * 2**20


def keep_freed_memory() -> bool:
    """Have this process keep memory that it has freed, and use it again, for as long as it lives.

    What other parts of the process free is kept, too, so it grows larger than its largest step needs, until
    `give_back_freed_memory` is called.

    Returns:
        Whether this system's memory is managed by glibc; elsewhere nothing is changed.
    """
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version") or not hasattr(library, "mallopt"):
        return False
    settings = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, _MOST), (_TOP_PAD, _PAD))
    taken = [library.mallopt(name, value) == 1 for name, value in settings]
    return all(taken)


def give_back_freed_memory() -> None:
    """Give the system back what this process has freed and kept, where its memory is managed by glibc."""
    if not sys.platform.startswith("linux"):
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)
