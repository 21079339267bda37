"""Objects that are used by several threads and stay usable in a forked process."""

from __future__ import annotations

import os
import threading
from weakref import WeakSet


class ForkSafe:
    """Has a lock that is a new one in each forked process, because a thread of the parent may have held the old one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _objects.add(self)

    def after_fork(self) -> None:
        """In a forked process, forget what belongs to the parent, such as its requests in flight."""


_objects: WeakSet[ForkSafe] = WeakSet()


def _reset_all() -> None:
    for one in list(_objects):
        one._lock = threading.Lock()
        one.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_all)
