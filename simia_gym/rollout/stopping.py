"""What a first Ctrl-C says, and that SIGTERM is heard like one."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Coroutine
from types import FrameType
from typing import Any, TypeVar

from simia_gym.common.event_loop import new_loop

T = TypeVar("T")

_NOTE = b"simia: stopping after this call; press Ctrl-C again to stop now\n"
_TOLD_TO = b"simia: told to stop (SIGTERM): stopping after this call\n"


class Terminated(KeyboardInterrupt):
    """The run was stopped by SIGTERM, as batch systems and container managers send it."""


def run_until_interrupted(work: Coroutine[Any, Any, T], *, waits: bool = False) -> T:
    """Run a coroutine in a loop of its own, and answer the first Ctrl-C or SIGTERM at once.

    What an interrupt does is left to `asyncio.Runner`: the first cancels the work, which a policy that computes holds
    up until it returns, and the second stops it where it is.

    Args:
        work: The coroutine.
        waits: Whether it mostly waits for servers, so that the fastest loop is worth having. That one hears a second
            interrupt only between two steps, which is too late for code that computes for long.

    Returns:
        Its result.

    Raises:
        KeyboardInterrupt: Somebody stopped it; a `Terminated` if it was by SIGTERM.
    """
    heard: list[int] = []
    try:
        with asyncio.Runner(loop_factory=new_loop if waits else None) as runner:
            return runner.run(_answering(work, heard))
    except KeyboardInterrupt:
        if heard and heard[0] == signal.SIGTERM:
            raise Terminated from None
        raise


async def _answering(work: Coroutine[Any, Any, T], heard: list[int]) -> T:
    of_the_loop = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(of_the_loop):
        return await work

    def answer(number: int, frame: FrameType | None) -> None:
        if not heard:
            # Not through sys.stderr: the interrupt may have come while that was writing.
            note = _TOLD_TO if number == signal.SIGTERM else _NOTE
            os.write(2, b"\n" + note if sys.stderr.isatty() else note)
        heard.append(number)
        of_the_loop(signal.SIGINT, frame)

    before: dict[signal.Signals, Any] = {signal.SIGINT: of_the_loop}
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:  # else somebody has decided otherwise, such as to ignore it
        before[signal.SIGTERM] = signal.SIG_DFL
    for number in before:
        signal.signal(number, answer)
    try:
        return await work
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
