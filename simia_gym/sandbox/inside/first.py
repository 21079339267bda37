"""The first process of a sandbox: builds what it sees, then starts commands and ends whatever they leave.

It keeps its capabilities and shows nothing of itself, so that no command can stop or inspect it. What it executes has
none: its bounding set is empty, and being user 0 means nothing.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Mapping
from typing import Any

from simia_gym.sandbox.entries import receive, send
from simia_gym.sandbox.inside import calls, kernel, mounts
from simia_gym.sandbox.inside.command import Runner


def serve(attendant: socket.socket, wanted: Mapping[str, Any]) -> None:
    """Build the sandbox that is wanted, and run commands until the other end is closed."""
    kernel.die_with_parent()
    kernel.set_dumpable(False)
    rules = calls.program()
    ids = _prepare()
    mounts.build(wanted["roots"])
    wake, woken = socket.socketpair()
    wake.setblocking(False)
    woken.setblocking(False)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first process gets no signal that it does not ask for
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
    runner = Runner(wanted["limits"], ids, wake)
    kernel.keep_nobody_from_rising()
    kernel.install_filter(rules)
    send(attendant, {"ready": True})
    while True:
        given: list[int] = []
        _, script = receive(attendant, given)
        try:
            code, output, stopped = runner.run(script, given[0])
        finally:
            os.close(given[0])
        send(attendant, {"code": code, "stopped": stopped}, output)


def _prepare() -> int:
    """Allow no user namespace below this one; a descriptor for the last process number that was given."""
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    with open("/proc/sys/user/max_user_namespaces", "w", encoding="ascii") as file:
        file.write("0")
    return os.open("/proc/sys/kernel/ns_last_pid", os.O_WRONLY | os.O_CLOEXEC)
