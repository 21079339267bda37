"""The process beside a sandbox: sees its files and not its processes, and takes the orders for both.

No command sees it, since it is in no process namespace of theirs. When it ends, the sandbox does.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Mapping
from typing import Any

from simia_gym.sandbox.entries import receive, send
from simia_gym.sandbox.inside import kernel
from simia_gym.sandbox.inside.disk import Disk, TooLarge

_LONGEST_BOOK = 4 << 20  # bytes


def serve(control: socket.socket, first: socket.socket, wanted: Mapping[str, Any]) -> None:
    """Answer orders until either end is closed."""
    told, _ = receive(first)
    send(control, told)
    if "error" in told:
        return
    kernel.set_dumpable(False)
    os.chdir("/")
    limits = wanted["limits"]
    disk = Disk(wanted["roots"], limits["disk"], limits["inodes"])
    while True:
        order, data = receive(control)
        if order["do"] == "put":
            disk.lay_out(order["tree"], data)
            send(control, {})
        elif order["do"] == "tree":
            listed, content = disk.read()
            send(control, {"tree": listed}, content)
        else:
            length = order["script"]
            _run(control, first, disk, data[:length], data[length:])


def _run(control: socket.socket, first: socket.socket, disk: Disk, script: bytes, prologue: bytes) -> None:
    disk.wait_for_a_tick()
    book = os.memfd_create("shell")  # a new one each time: a command may do with it what it likes
    try:
        os.write(book, prologue)
        send(first, {}, script, [book])
        _wait(first, control)
        told, output = receive(first)
        if "error" in told:
            raise OSError(told["error"])
        kept = os.pread(book, min(os.fstat(book).st_size, _LONGEST_BOOK), 0)
    finally:
        os.close(book)
    changed = True
    if not told["stopped"]:
        try:
            changed = disk.survey()
        except TooLarge:
            told |= {"stopped": "disk", "code": 137}
    send(control, {**told, "changed": changed, "output": len(output)}, output + kept)


def _wait(first: socket.socket, control: socket.socket) -> None:
    """Wait for an answer of the first process.

    Raises:
        EOFError: The other end of the control socket was closed meanwhile.
    """
    poller = select.poll()
    poller.register(first, select.POLLIN)
    poller.register(control, select.POLLRDHUP)
    if any(fd == control.fileno() for fd, _ in poller.poll()):
        raise EOFError
