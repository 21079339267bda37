"""Measures work without a clock, so that a busy machine changes no result; and waits for what another process does."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


def calls_in(action: Callable[..., T], *arguments: Any) -> tuple[int, T]:
    """How many functions, Python's and C's, an action calls in this thread; and its result."""
    count = 0

    def notice(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(notice)
    try:
        result = action(*arguments)
    finally:
        sys.setprofile(before)
    return count, result


def bytes_in(action: Callable[..., T], *arguments: Any) -> tuple[int, T]:
    """The most memory, in bytes, that an action holds at once beyond what was held before; and its result."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = action(*arguments)
        return tracemalloc.get_traced_memory()[1] - before, result
    finally:
        tracemalloc.stop()


@contextmanager
def processor_limit(seconds: float = 20.0) -> Iterator[None]:
    """Fail what explodes: a limit, in seconds of processor time, far above what sound code needs."""

    def fail(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"more than {seconds:g} seconds of processor time")

    before = signal.signal(signal.SIGPROF, fail)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def wait_until(condition: Callable[[], object], seconds: float = 120.0) -> None:
    """Wait for what another process or thread does; fail after a time that no busy machine explains."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not so after {seconds:g} seconds")
        time.sleep(0.01)


async def forked(holds: Callable[[], bool]) -> bool:
    """Whether something holds in a process that is forked from this one."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if holds() else 1)
        finally:
            os._exit(2)
    async with asyncio.timeout(60):
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            await asyncio.sleep(0.01)
    return ended == (child, 0)
