"""The process that makes sandboxes: as empty as it can be, since each begins as its copy."""

from __future__ import annotations

import errno
import os
import re
import resource
import signal
import socket
import time
from contextlib import suppress
from typing import Any

from simia_gym.sandbox.entries import receive, send
from simia_gym.sandbox.inside import attendant, first, kernel

NOBODY = 65534
_INHERITED = (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM)
_OTHERS = kernel.EVERYTHING & ~kernel.CLONE_NEWUSER


def main() -> None:
    """Make sandboxes, as asked for on descriptor 0, until it is closed."""
    os.closerange(3, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1 << 16))
    os.setsid()
    os.chdir("/")
    os.umask(0o022)
    kernel.forget_arguments()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in _INHERITED:
        signal.signal(number, signal.SIG_DFL)
    refused = _become_nobody() if os.getuid() == 0 else ""
    kernel.set_dumpable(False)
    kernel.adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel takes leave of those that end
    orders = socket.socket(fileno=os.dup(0))
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    while True:
        given: list[int] = []
        try:
            wanted, _ = receive(orders, given)
        except (EOFError, OSError):
            return
        if refused:
            send(socket.socket(fileno=os.dup(given[0])), {"error": refused})
        elif not os.fork():
            orders.close()
            _make(socket.socket(fileno=given[0]), wanted)
        os.close(given[0])


def _become_nobody() -> str:
    """Become an unprivileged user; what is wrong if that cannot be, as where root is the only user."""
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError as error:
        return f"root cannot become the user {NOBODY}: {error}"
    return ""


def _make(control: socket.socket, wanted: dict[str, Any]) -> None:
    """In a child: enter namespaces of its own, start their first process, and attend to both."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        kernel.set_dumpable(True)  # else it may not write its own map of users
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")  # where memory ends, a sandbox ends before the program that uses it
        WAYS[wanted["way"]]()
        kernel.unshare(_OTHERS)
        ours, theirs = socket.socketpair()
        if os.fork():
            theirs.close()
            attendant.serve(control, ours, wanted)
        control.close()
        ours.close()
        control = theirs
        first.serve(theirs, wanted)
    except EOFError:
        pass
    except BaseException as error:
        with suppress(OSError):
            send(control, {"error": str(error) if isinstance(error, OSError) else repr(error)})
    finally:
        os._exit(0)


def _own_user_namespace() -> None:
    """Make a user namespace with one user."""
    user, group = os.getuid(), os.getgid()
    kernel.unshare(kernel.CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _user_namespace_of_bubblewrap() -> None:
    """Enter a user namespace that `bwrap` makes: it may, on machines where other programs may not."""
    told, tell = os.pipe()
    wait, go = os.pipe()
    words = ["bwrap", "--unshare-user", "--uid", "0", "--gid", "0", "--dev-bind", "/", "/"]
    words += ["--info-fd", str(tell), "--block-fd", str(wait), "/bin/true"]
    for fd in (tell, wait):
        os.set_inheritable(fd, True)
    maker = os.posix_spawn("/usr/bin/bwrap", words, {})
    os.close(tell)
    os.close(wait)
    text, found = b"", None
    while found is None and (part := os.read(told, 4096)):
        text += part
        found = re.search(rb'"child-pid": (\d+)', text)
    if found is None:
        raise OSError(errno.EPERM, "bwrap: no user namespace")
    child = int(found[1])
    try:
        made = f"/proc/{child}"
        _wait_for_map(f"{made}/uid_map")
        namespace = os.open(f"{made}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        kernel.enter(namespace, kernel.CLONE_NEWUSER)
    finally:
        for process in (maker, child):  # the child would wait for ever for a maker that has ended
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        os.waitpid(maker, 0)
    for fd in (told, go, namespace):
        os.close(fd)


def _wait_for_map(path: str) -> None:
    """Wait until a user namespace has its user: `bwrap` gives it one a moment after it has said that it is there."""
    for _ in range(1000):
        with open(path, encoding="ascii") as file:
            if file.read():
                return
        time.sleep(0.002)
    raise OSError(errno.EPERM, "bwrap: a user namespace without a user")


WAYS = {"unshare": _own_user_namespace, "bwrap": _user_namespace_of_bubblewrap}
