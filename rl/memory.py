"""Keeps freed memory for the next step of a training on CPU.

By default glibc requests each large block from the kernel and returns it when it is freed. A training step allocates
and frees thousands of blocks of the same sizes, and the kernel's zeroing of their pages takes a fifth of its time. Kept
memory becomes fragmented, so the process grows; therefore all freed memory is returned to the kernel now and then.
"""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4  # of <malloc.h>
_MOST = 2**31 - 1
_PAD = 256 * 2**20


def keep_freed_memory() -> bool:
    """Let this process keep and reuse freed memory until it ends; return whether it uses glibc, which can.

    This affects the whole process: it grows beyond what its largest step needs until `give_back_freed_memory` is
    called.
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
    """Return freed memory to the kernel; does nothing without glibc."""
    if not sys.platform.startswith("linux"):
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)
