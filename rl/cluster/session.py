"""Connects to a running Ray cluster, or starts one of this machine alone, for the length of a run."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import ray

from simia_gym.errors import InputError
from simia_gym.rl.extras import cores, first_line

_VARIABLE = "RAY_ADDRESS"
_CONNECT_TIMEOUT = 10.0
_LATE = "timed out during startup"
"""What Ray 2.60 says, in a bare Exception, if a node is not there after 30 seconds, as on a busy machine."""
_FIX = "Start it with `ray start --head`, or leave --ray-address out for a cluster of this machine."


@contextmanager
def session(address: str | None = None, workers: int | None = None) -> Iterator[None]:
    """Connect to Ray for the length of the context. If this process is connected already, nothing changes.

    Args:
        address: ``auto`` or ``HOST:PORT`` of a running cluster; by default the value of ``RAY_ADDRESS``, and without it
            a new cluster of this machine alone.
        workers: Number of workers that a new cluster must have room for, if there are fewer cores.

    Raises:
        InputError: There is no cluster at that address, or this process must not be its driver.
    """
    if ray.is_initialized():
        yield
        return
    where = address or os.environ.get(_VARIABLE) or "local"
    if where.startswith("ray://"):
        fix = "Run this on a node of the cluster (`ray job submit` does), with --ray-address auto."
        raise InputError("Ray's client is too far from the workers", where="--ray-address", fix=fix)
    _check_reachable(where)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    more = {}
    if where == "local":
        more = {"num_cpus": max(cores(), workers or 1), "include_dashboard": False}
    # Ray installs a handler of SIGTERM; the caller's handler is restored afterwards.
    main = threading.current_thread() is threading.main_thread()
    heard = signal.getsignal(signal.SIGTERM) if main else None
    try:
        ray.init(address=where, log_to_driver=False, logging_level="ERROR", **more)
    except (ConnectionError, ValueError, RuntimeError) as error:
        ray.shutdown()
        what = f"there is no cluster to connect to: {first_line(error)}"
        raise InputError(what, where="--ray-address", fix=_FIX) from error
    except Exception as error:
        if _LATE not in str(error):
            raise
        ray.shutdown()
        fix = "Run it again when less runs beside it, or `ray start --head` once and give --ray-address auto."
        raise InputError(f"Ray does not start here: {first_line(error)}", where="--ray", fix=fix) from error
    finally:
        if main:
            signal.signal(signal.SIGTERM, heard)
    try:
        yield
    finally:
        ray.shutdown()


def _check_reachable(where: str) -> None:
    """Check that the address accepts connections; Ray itself would retry for minutes.

    Raises:
        InputError: It does not.
    """
    host, colon, port = where.rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_TIMEOUT).close()
    except OSError as error:
        what = f"there is no cluster to connect to at {where} ({error.strerror or error})"
        raise InputError(what, where="--ray-address", fix=_FIX) from error
