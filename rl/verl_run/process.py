"""Starts the processes of a training, finds them again, and ends them all.

Ray starts processes in their own sessions, so they do not belong to one process group. But each inherits the
environment, which holds a mark of the run; only processes with that mark are ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

MARK = "SIMIA_TRAINING"
_PR_SET_PDEATHSIG = 1
THREADS = "OMP_NUM_THREADS"
PLUG_IN = "simia_gym.rl.verl_plugin.load"
_GRACE = 20.0
"""Seconds for Ray to end by itself."""


def mark_of(run: Path) -> str:
    """Value of the variable `MARK` in all processes of a run."""
    return str(run.resolve())


def marked(run: Path) -> list[int]:
    """Ids of the living processes of a run; empty on systems without ``/proc``."""
    wanted, own = f"{MARK}={mark_of(run)}".encode(), os.getpid()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0") and int(entry.name) != own and _alive(entry):
                found.append(int(entry.name))
    return sorted(found)


def _alive(entry: Path) -> bool:
    state = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return bool(state) and state[0] != "Z"


def end_marked(run: Path, *, grace: float = 3.0) -> int:
    """End all processes of a run, by SIGKILL ``grace`` seconds after SIGTERM; return their number."""
    first = marked(run)
    for number, wait in ((signal.SIGTERM, grace), (signal.SIGKILL, grace)):
        for pid in marked(run):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        until = time.monotonic() + wait
        while marked(run) and time.monotonic() < until:
            time.sleep(0.1)
    return len(first)


class Training:
    """A running trainer of verl, started by a command, with all processes that it starts."""

    def __init__(self, run: Path, command: Sequence[str], environment: Mapping[str, str], log: IO[bytes]) -> None:
        self._run = run
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **environment, MARK: mark_of(run)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=run,
            start_new_session=True,  # so that Ctrl-C reaches the launch alone, which then stops the training in order
            preexec_fn=_die_with_parent(),
        )

    @property
    def exit_code(self) -> int | None:
        """Its exit code; ``None`` while it runs."""
        return self._process.poll()

    def wait(self, seconds: float) -> None:
        """Wait until it ends, at most so many seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def stop(self, *, at_once: bool = False) -> None:
        """End the training with all its processes; at once means without waiting for Ray to shut down."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL if at_once else signal.SIGINT)
            self.wait(2.0 if at_once else _GRACE)
        self.sweep()

    def sweep(self) -> None:
        """End the processes that remain when the first one has ended; Ray's own need a moment to end."""
        until = time.monotonic() + (0.0 if self._process.poll() is None else 2.0)
        while marked(self._run) and time.monotonic() < until:
            time.sleep(0.1)
        end_marked(self._run)
        if self._process.poll() is None:  # systems without /proc
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self.wait(5.0)


def _die_with_parent() -> Callable[[], None] | None:
    """Let the kernel end the child when the launch is killed, so that no training runs unattended (Linux)."""
    if not sys.platform.startswith("linux"):
        return None
    prctl, number, parent = ctypes.CDLL(None).prctl, int(signal.SIGTERM), os.getpid()

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:  # the parent was killed before prctl
            os._exit(1)

    return in_child
