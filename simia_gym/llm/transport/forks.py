"""What a process counts and locks is not its child's: a forked process starts afresh."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class _Fresh(Protocol):
    def after_fork(self) -> None:
        """Forget what belongs to the parent: locks that it may have held, requests that it has in flight."""


_objects: WeakSet[_Fresh] = WeakSet()


def fresh_after_fork(one: _Fresh) -> None:
    """Have an object told when it finds itself in a forked process."""
    _objects.add(one)


def _tell() -> None:
    for one in list(_objects):
        one.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_tell)
