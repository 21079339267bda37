"""Garbage collection while many episodes are in flight.

What the episodes hold is alive, and there is much of it: Python's usual rhythm looks through it again and again and
finds next to nothing, for a sixth of the time that a turn takes. What an episode leaves behind is freed without it. So
the rounds wait until more has come into being than the episodes in flight can hold.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 50_000
"""New objects after which a round begins at the earliest; Python's default is 700."""
_OF_AN_EPISODE = 2_000
"""More objects than an episode holds when it ends."""


@contextmanager
def rarer_collection(episodes: int = 1) -> Iterator[None]:
    """Collect more rarely while this lasts. Where collection is off, or rarer already, nothing changes.

    Args:
        episodes: How many are in flight at once.
    """
    before = gc.get_threshold()
    objects = max(_OBJECTS, _OF_AN_EPISODE * episodes)
    if 0 < before[0] < objects:
        gc.set_threshold(objects, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
