"""What a first Ctrl-C says."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Coroutine
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

_NOTE = b"simia: stopping after this call; press Ctrl-C again to stop now\n"


def run_until_interrupted(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a loop of its own, and answer the first Ctrl-C at once.

    What an interrupt does is left to `asyncio.run`: the first cancels the work, which a policy that computes holds up
    until it returns, and the second stops it where it is.

    Args:
        work: The coroutine.

    Returns:
        Its result.

    Raises:
        KeyboardInterrupt: Somebody stopped it.
    """
    return asyncio.run(_answering(work))


async def _answering(work: Coroutine[Any, Any, T]) -> T:
    of_the_loop = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(of_the_loop):
        return await work
    told = False

    def answer(number: int, frame: FrameType | None) -> None:
        nonlocal told
        if not told:
            told = True
            # Not through sys.stderr: the interrupt may have come while that was writing.
            os.write(2, b"\n" + _NOTE if sys.stderr.isatty() else _NOTE)
        of_the_loop(number, frame)

    signal.signal(signal.SIGINT, answer)
    try:
        return await work
    finally:
        signal.signal(signal.SIGINT, of_the_loop)
