"""Runs an oracle server in a thread of its own, for callers without an event loop or with a busy one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from simia_gym.oracle.options import OracleOptions
from simia_gym.oracle.server import OracleServer

_PATIENCE = 30


@contextmanager
def serve_in_thread(options: OracleOptions | None = None) -> Iterator[OracleServer]:
    """Serve an oracle while the ``with`` block runs.

    Args:
        options: The oracle's options.

    Yields:
        The running server.

    Raises:
        InputError: The server cannot start.
    """
    server = OracleServer(options)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="oracle", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(_PATIENCE)
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(server.stop(), loop).result(_PATIENCE)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_PATIENCE)
        loop.close()
