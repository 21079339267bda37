"""Runs one command in a sandbox, and leaves nothing of it but files."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from simia_gym.sandbox.inside import kernel

SHELL_FILE = 200  # the descriptor of the shell's bookkeeping
_LAST_PROCESS = b"1"  # the number before that of a command's first process
_OWN_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)


class Runner:
    """Runs commands, one at a time.

    Args:
        limits: Those of `Limits`, as a mapping. Those of a process are this one's, too, from now on.
        ids: A descriptor for the last process number that was given.
        wake: The end of a pair of sockets that becomes readable when a child ends.
    """

    def __init__(self, limits: Mapping[str, Any], ids: int, wake: socket.socket) -> None:
        self.time, self.output = float(limits["time"]), int(limits["output"])
        self.ids, self.wake = ids, wake
        self.nothing = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        kernel.limit(
            {
                "AS": limits["memory"],
                "NPROC": limits["processes"] + 1,  # the process beside the sandbox is one of the same user
                "NOFILE": limits["open_files"],
                "FSIZE": limits["file_size"],
                "CORE": 0,
                "MEMLOCK": 65536,
                "MSGQUEUE": 0,
                "NICE": 0,
                "RTPRIO": 0,
                "SIGPENDING": 256,
            }
        )

    def run(self, script: bytes, book: int) -> tuple[int, bytes, str]:
        """Run a script in a shell that begins with what stands in a file.

        Returns:
            The exit code, what was written to the output, and the limit that stopped it, or nothing.
        """
        os.lseek(self.ids, 0, os.SEEK_SET)
        os.write(self.ids, _LAST_PROCESS)
        read_end, write_end = os.pipe()
        try:
            main = self._start(script, write_end, book)
            os.close(write_end)
            write_end = -1
            os.set_blocking(read_end, False)
            code, stopped, output = self._watch(main, read_end)
            self._end_all()
            _drain(read_end, output, self.output + 1)
            if not stopped and len(output) > self.output:
                code, stopped = 137, "output"
            return code, bytes(output[: self.output]), stopped
        finally:
            os.close(read_end)
            if write_end >= 0:
                os.close(write_end)

    def _start(self, script: bytes, output: int, book: int) -> int:
        """Start the shell. By executing it, the new process loses every capability."""
        moves = [
            (os.POSIX_SPAWN_DUP2, *pair) for pair in ((self.nothing, 0), (output, 1), (output, 2), (book, SHELL_FILE))
        ]
        # The shell reads its start-up file first, so that its messages are those of `bash -c SCRIPT`.
        return os.posix_spawn(
            "/bin/bash",
            [b"bash", b"--norc", b"--noprofile", b"-c", script],
            {b"BASH_ENV": b"/proc/self/fd/%d" % SHELL_FILE},
            file_actions=moves,
            setsid=True,
            setsigmask=(),
            setsigdef=_OWN_SIGNALS,
        )

    def _watch(self, main: int, out: int) -> tuple[int, str, bytearray]:
        """Wait for the end of the first process, collecting output and orphans, or for a limit."""
        output = bytearray()
        end = time.monotonic() + self.time
        poller = select.poll()
        poller.register(out, select.POLLIN)
        poller.register(self.wake, select.POLLIN)
        while True:
            left = end - time.monotonic()
            if left <= 0:
                return 124, "time", output
            for fd, event in poller.poll(left * 1000 + 1):
                if fd == self.wake.fileno():
                    self._forget_wakes()
                    if (code := _reap(main)) is not None:
                        return code, "", output
                elif event & select.POLLIN:
                    _drain(out, output, self.output + 1)
                else:
                    poller.unregister(out)  # nobody holds the other end any more
            if len(output) > self.output:
                return 137, "output", output

    def _end_all(self) -> None:
        """Kill every other process of the sandbox, and wait until none is left."""
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
        self._forget_wakes()

    def _forget_wakes(self) -> None:
        with suppress(BlockingIOError):
            while self.wake.recv(4096):
                pass


def _drain(out: int, output: bytearray, most: int) -> None:
    """Add what has come, until there is nothing more or enough."""
    with suppress(BlockingIOError):
        while len(output) < most and (part := os.read(out, 65536)):
            output += part


def _reap(main: int) -> int | None:
    """Take leave of the children that have ended; the exit code of one of them, if it is among them."""
    code = None
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            if pid == main:
                code = os.waitstatus_to_exitcode(status)
                code = code if code >= 0 else 128 - code
    return code
