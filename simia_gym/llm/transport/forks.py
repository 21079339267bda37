"""Objects whose locks and counters are reset in a forked process."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class _Fresh(Protocol):
    def after_fork(self) -> None:
        """Reset locks that the parent process may have held, and forget its requests in flight."""


_objects: WeakSet[_Fresh] = WeakSet()


def fresh_after_fork(one: _Fresh) -> None:
    """Call the object's ``after_fork`` in each forked process."""
    _objects.add(one)


def _reset_all() -> None:
    for one in list(_objects):
        one.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_all)
