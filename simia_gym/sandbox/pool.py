"""Sandboxes that wait for the next episode."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from simia_gym.errors import Fault
from simia_gym.sandbox.entries import Tree
from simia_gym.sandbox.limits import Limits
from simia_gym.sandbox.sandbox import ROOTS, Sandbox


class Pool:
    """Sandboxes of one kind, each used by one episode at a time.

    Threads may share a pool; a process that is forked begins with an empty one.

    Args:
        limits: What commands may use.
        roots: The folders that can be written.
        most: How many sandboxes wait at most; others are closed when they are given back.
    """

    def __init__(self, limits: Limits | None = None, roots: Sequence[str] = ROOTS, most: int = 16) -> None:
        self.limits, self.roots, self.most = limits or Limits(), tuple(roots), most
        self._waiting: list[Sandbox] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    def take(self, tree: Tree) -> Sandbox:
        """A sandbox with a tree: one in which it stands already, another that waits, or a new one.

        Raises:
            SandboxUnavailable: No sandbox can be made on this machine.
            InputError: The tree cannot be put.
            Fault: None could be made now.
        """
        if self._process != os.getpid():  # those that wait belong to the process from which this one was forked
            self._waiting, self._lock, self._process = [], threading.Lock(), os.getpid()
        while True:
            with self._lock:
                at = next((i for i, waiting in enumerate(self._waiting) if waiting.holds(tree)), -1)
                sandbox = self._waiting.pop(at) if self._waiting else None
            new = sandbox is None
            sandbox = sandbox or Sandbox(self.limits, self.roots)
            try:
                sandbox.put(tree)
            except Fault:  # one that waited may have ended meanwhile
                if new:
                    raise
            except BaseException:
                self.give(sandbox)
                raise
            else:
                return sandbox

    def give(self, sandbox: Sandbox) -> None:
        """Give a sandbox back; nobody uses it any more."""
        with self._lock:
            if len(self._waiting) < self.most and not sandbox.closed:
                self._waiting.append(sandbox)
                return
        sandbox.close()

    def close(self) -> None:
        """Close all sandboxes that wait."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for sandbox in waiting:
            sandbox.close()
