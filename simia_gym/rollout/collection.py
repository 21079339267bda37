"""Rarer garbage collection while many episodes are in flight.

Running episodes hold many live objects. With Python's default thresholds the collector scans them again and again and
frees almost nothing; with 256 episodes in flight this takes a sixth of the time of a turn. Objects of finished episodes
are freed by reference counting. So we raise the threshold above the number of objects that the episodes in flight hold.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 50_000
"""Lowest threshold: number of new objects that starts a collection; Python's default is 700."""
_OF_AN_EPISODE = 2_000
"""Upper bound on the number of objects of one episode."""


@contextmanager
def rarer_collection(episodes: int = 1) -> Iterator[None]:
    """Raise the garbage collection threshold inside the context, unless collection is off or the threshold is higher.

    Args:
        episodes: Number of episodes in flight.
    """
    before = gc.get_threshold()
    objects = max(_OBJECTS, _OF_AN_EPISODE * episodes)
    if not 0 < before[0] < objects:
        yield
        return
    gc.set_threshold(objects, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
