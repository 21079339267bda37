"""The processes of a training: started as one group that can be found again, and ended whole.

Ray starts processes in sessions of their own, so a process group does not hold them. Each inherits the environment,
though, and in it the mark of the run; by that mark, and by nothing else, what is left over is found and ended.
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
_GRACE = 20.0
"""Seconds for Ray to end by itself."""


def mark_of(run: Path) -> str:
    """What stands in the environment of every process of a run."""
    return str(run.resolve())


def marked(run: Path) -> list[int]:
    """The processes of a run that are alive, where the system tells (Linux)."""
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
    """End what is left of a run.

    Args:
        run: Its folder.
        grace: Seconds between asking and insisting.

    Returns:
        How many processes there were.
    """
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
    """A running ``verl.trainer.main_ppo`` with all that it starts.

    Args:
        run: The folder of the run.
        words: Overrides of verl's configuration.
        environment: Variables besides those of this process.
        log: Where its output goes.
    """

    def __init__(self, run: Path, words: Sequence[str], environment: Mapping[str, str], log: IO[bytes]) -> None:
        self._run = run
        self._process = subprocess.Popen(
            command(words),
            env={**os.environ, **environment, MARK: mark_of(run)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=run,
            start_new_session=True,  # so that Ctrl-C comes to the launch alone, which then ends things in order
            preexec_fn=_die_with_parent(),
        )

    @property
    def exit_code(self) -> int | None:
        """Its exit code; ``None`` while it runs."""
        return self._process.poll()

    def wait(self, seconds: float) -> None:
        """Wait until it ends, at most so long."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def stop(self, *, at_once: bool = False) -> None:
        """End it and everything it has started.

        Args:
            at_once: Without waiting for Ray to end by itself.
        """
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL if at_once else signal.SIGINT)
            self.wait(2.0 if at_once else _GRACE)
        self.sweep()

    def sweep(self) -> None:
        """End what is left once the first process is gone; Ray's own take a moment."""
        until = time.monotonic() + (0.0 if self._process.poll() is None else 2.0)
        while marked(self._run) and time.monotonic() < until:
            time.sleep(0.1)
        end_marked(self._run)
        if self._process.poll() is None:  # where processes carry no mark
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self.wait(5.0)


def command(words: Sequence[str]) -> list[str]:
    """The unmodified trainer of verl, in this Python."""
    return [sys.executable, "-m", "verl.trainer.main_ppo", *words]


def _die_with_parent() -> Callable[[], None] | None:
    """Let the kernel end a child whose parent is killed, so that no training goes on that nobody watches (Linux)."""
    if not sys.platform.startswith("linux"):
        return None
    prctl, number, parent = ctypes.CDLL(None).prctl, int(signal.SIGTERM), os.getpid()

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:  # it was killed in between
            os._exit(1)

    return in_child
