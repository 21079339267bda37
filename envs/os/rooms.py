"""Runs scripts in sandboxes while other episodes go on: a thread for each command that runs, sandboxes that wait.

A sandbox belongs to no episode: whoever has its tree takes it. So a command is a function of the state, an episode may
go on in another process, and nothing has to be freed at its end.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from simia_gym.sandbox import Limits, Pool, Result, Shell, Tree

P = ParamSpec("P")
T = TypeVar("T")

LIMITS = Limits(time=10)
_AT_ONCE = 64
_WAITING = 64


class _Rooms:
    """The sandboxes and threads of one process."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.pool = Pool(LIMITS, most=_WAITING)
        self.threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="simia-gym-sandbox")


_rooms: _Rooms | None = None


def run_now(tree: Tree, script: str, shell: Shell, seed: int) -> tuple[Result, Tree]:
    """Run a script on a tree; gives what it did, and the tree afterwards.

    Raises:
        SandboxUnavailable: No sandbox can be made on this machine.
        InputError: The script is too long, or the tree cannot be laid out.
        Fault: The sandbox has ended.
    """
    pool = _of_process().pool
    sandbox = pool.take(tree)
    try:
        done = sandbox.run(script, shell, seed)
        return done, sandbox.tree() if done.changed else tree
    finally:
        pool.give(sandbox)


async def run_in_sandbox(tree: Tree, script: str, shell: Shell, seed: int) -> tuple[Result, Tree]:
    """`run_now` in a thread, so that others go on meanwhile."""
    return await in_thread(run_now, tree, script, shell, seed)


async def in_thread(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call a function that runs scripts in a thread for it."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_of_process().threads, partial(function, *arguments, **named))


def _of_process() -> _Rooms:
    global _rooms
    if _rooms is None or _rooms.owner != os.getpid():  # a forked process has none of the threads and sockets
        _rooms = _Rooms()
    return _rooms
