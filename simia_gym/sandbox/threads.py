"""Threads for what waits for a sandbox, so that other episodes go on meanwhile."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_AT_ONCE = 64


async def in_thread(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Call a function that uses sandboxes in a thread, of which up to 64 work at once."""
    threads = _threads(os.getpid())  # a forked process has none of the threads of the one from which it comes
    return await asyncio.get_running_loop().run_in_executor(threads, partial(function, *arguments, **named))


@cache
def _threads(_process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="simia-gym-sandbox")
