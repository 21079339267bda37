"""Several workers at the same time, whose first exception is raised as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


async def at_the_same_time(work: Callable[[], Coroutine[Any, Any, None]], number: int) -> None:
    """Run a number of workers until all have ended; if one raises, the others are cancelled and that is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(number):
                group.create_task(work())
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
