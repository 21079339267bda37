"""The one process per process of ours that makes its sandboxes."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from simia_gym.sandbox.entries import send

# The modules are imported as parts of empty packages, since the package itself imports libraries.
_BEGIN = """\
import sys, types
for name, place in (("simia_gym", {engine!r}), ("simia_gym.sandbox", {room!r})):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [place]
from simia_gym.sandbox.inside.keeper import main
main()
"""


class Keeper:
    """A process with an empty environment, and no descriptor of ours but one, from which each sandbox begins as a copy.

    Started by root, it becomes an unprivileged user before it does anything.
    """

    _lock = threading.Lock()
    _current: Keeper | None = None

    def __init__(self) -> None:
        room = Path(__file__).resolve().parent
        code = _BEGIN.format(engine=str(room.parent), room=str(room))
        self.process = os.getpid()
        self._orders, theirs = socket.socketpair()
        nothing = os.open(os.devnull, os.O_RDWR)
        actions = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0), *((os.POSIX_SPAWN_DUP2, nothing, fd) for fd in (1, 2))]
        words = [sys.executable, "-I", "-S", "-c", code]
        try:
            self.pid = os.posix_spawn(sys.executable, words, {}, file_actions=actions)
        finally:
            theirs.close()
            os.close(nothing)

    @classmethod
    def current(cls) -> Keeper:
        """The keeper of this process; a fork of ours gets its own."""
        with cls._lock:
            if cls._current is None or cls._current.ended():
                cls._current = cls()
                atexit.register(cls._current.close)
            return cls._current

    def ask(self, wanted: dict[str, Any]) -> socket.socket:
        """Ask for a sandbox: the socket to its first process, which sends a message when it is ready.

        Raises:
            OSError: The process has ended.
        """
        ours, theirs = socket.socketpair()
        with self._lock, theirs:
            try:
                send(self._orders, wanted, fds=[theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return ours

    def ended(self) -> bool:
        """Whether the process is gone."""
        try:
            return os.waitpid(self.pid, os.WNOHANG) != (0, 0)
        except ChildProcessError:
            return True

    def ends(self) -> bool:
        """Whether the process is gone within a second: its sockets are closed a moment before it is."""
        for _ in range(100):
            if self.ended():
                return True
            time.sleep(0.01)
        return False

    def close(self) -> None:
        """End the process. Its sandboxes go on until they are closed."""
        self._orders.close()
        if Keeper._current is self:
            Keeper._current = None
        if self.process == os.getpid():
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)

    @classmethod
    def _after_fork(cls) -> None:
        cls._lock = threading.Lock()
        if cls._current is not None:
            cls._current.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Keeper._after_fork)
