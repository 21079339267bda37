"""Being part of a Ray cluster for as long as it takes: a running one, or one of this machine alone."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import ray

from simia_gym.errors import InputError

_VARIABLE = "RAY_ADDRESS"
_PATIENCE = 10.0


@contextmanager
def session(address: str | None = None, workers: int | None = None) -> Iterator[None]:
    """Be connected to Ray while this lasts. Where this process is already, nothing changes.

    Args:
        address: ``auto`` or ``HOST:PORT`` of a running cluster; by default what ``RAY_ADDRESS`` says, and without it a
            cluster of this machine alone.
        workers: How many processes that one is to have room for, if more than there are cores.

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
    _knock(where)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    more = {}
    if where == "local":
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        more = {"num_cpus": max(cores, workers or 1), "include_dashboard": False}
    # Ray makes SIGTERM its own; who runs this has their own way of stopping.
    main = threading.current_thread() is threading.main_thread()
    heard = signal.getsignal(signal.SIGTERM) if main else None
    try:
        ray.init(address=where, log_to_driver=False, logging_level="ERROR", **more)
    except (ConnectionError, ValueError, RuntimeError) as error:
        ray.shutdown()
        words = str(error).strip().splitlines() or [type(error).__name__]
        fix = "Start it with `ray start --head`, or leave --ray-address out for a cluster of this machine."
        raise InputError(f"there is no cluster to connect to: {words[0]}", where="--ray-address", fix=fix) from error
    finally:
        if main:
            signal.signal(signal.SIGTERM, heard)
    try:
        yield
    finally:
        ray.shutdown()


def _knock(where: str) -> None:
    """See whether anybody listens: Ray itself would try for minutes.

    Raises:
        InputError: Nobody does.
    """
    host, colon, port = where.rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except OSError as error:
        fix = "Start it with `ray start --head`, or leave --ray-address out for a cluster of this machine."
        what = f"there is no cluster to connect to at {where} ({error.strerror or error})"
        raise InputError(what, where="--ray-address", fix=fix) from error


def processors() -> int:
    """How many processors the cluster has now."""
    return int(ray.cluster_resources().get("CPU", 1))


def graphics_cards() -> float:
    """How many graphics cards the cluster has now."""
    return float(ray.cluster_resources().get("GPU", 0))
