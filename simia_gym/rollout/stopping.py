"""Handling of Ctrl-C and SIGTERM: the first prints a note and stops the run gracefully."""

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
_NOTE_SIGTERM = b"simia: told to stop (SIGTERM): stopping after this call\n"


class Terminated(KeyboardInterrupt):
    """The run was stopped by SIGTERM, which batch systems and container managers send."""


def run_until_interrupted(work: Coroutine[Any, Any, T], *, waits: bool = False) -> T:
    """Run a coroutine on a new event loop, and print a note at the first Ctrl-C or SIGTERM.

    `asyncio.Runner` handles the interrupts: the first cancels the coroutine, which takes effect at its next await; the
    second stops running code at once. `uvloop` handles the second only at the next await, which is too late for code
    that computes for long; so it is used only if the coroutine mostly `waits` for servers.

    Raises:
        KeyboardInterrupt: The run was interrupted; `Terminated` if by SIGTERM.
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
            # Not through sys.stderr: the signal may have interrupted a write to it.
            note = _NOTE_SIGTERM if number == signal.SIGTERM else _NOTE
            os.write(2, b"\n" + note if sys.stderr.isatty() else note)
        heard.append(number)
        of_the_loop(signal.SIGINT, frame)

    before: dict[signal.Signals, Any] = {signal.SIGINT: of_the_loop}
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:  # keep a handler that the caller has installed
        before[signal.SIGTERM] = signal.SIG_DFL
    for number in before:
        signal.signal(number, answer)
    try:
        return await work
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
