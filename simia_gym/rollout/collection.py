"""Garbage collection while many episodes are in flight.

What the episodes hold is alive, and there is much of it: Python's usual rhythm looks through it again and again and
finds next to nothing, for a sixth of the time that a turn takes. What an episode leaves behind is freed without it. So
the rounds wait until more has come into being than the episodes in flight can hold. In the end that would all be young,
and be looked through at once, which takes 45 ms after a thousand episodes: it counts as old instead.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 50_000
"""New objects after which a round begins at the earliest; Python's default is 700."""
_OF_AN_EPISODE = 2_000
"""More objects than an episode holds when it ends."""
_MOST_AGED = 1_000_000
"""So many objects may have been counted as old before a round over everything."""
_aged = 0


@contextmanager
def rarer_collection(episodes: int = 1) -> Iterator[None]:
    """Collect more rarely while this lasts. Where collection is off, or rarer already, nothing changes.

    Args:
        episodes: How many are in flight at once.
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
        if gc.isenabled() and gc.get_count()[0] > before[0]:  # else no round is due
            _age()
        gc.set_threshold(*before)


def _age() -> None:
    """Count what is young as old; Python takes no note of that, so that a round over everything is begun here."""
    global _aged
    if gc.get_freeze_count():
        return  # what somebody keeps out of all rounds would come back into them
    _aged += gc.get_count()[0]
    if _aged > _MOST_AGED:
        gc.collect()
        _aged = 0
        return
    gc.freeze()
    gc.unfreeze()
