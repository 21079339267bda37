"""Calls of the Linux kernel that Python has no function for."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Mapping

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
EVERYTHING = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_NOATIME = 1, 2, 4, 8, 32, 1024
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECUREBITS, _PR_SET_NO_NEW_PRIVS, _PR_SET_CHILD_SUBREAPER = (
    1,
    4,
    28,
    38,
    36,
)
_PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _PR_SET_SECCOMP = 24, 47, 22
_CAP_AMBIENT_CLEAR_ALL, _SECCOMP_MODE_FILTER = 4, 2
_SECURE = 0b11_101111  # NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE and their locks, and the lock of KEEP_CAPS

_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def _check(result: int, what: str) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Mount a file system, or change a mount."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    source_, target_, kind_, data_ = texts
    _check(_libc.mount(source_, target_, kind_, ctypes.c_ulong(flags), data_), f"mount {kind or source} on {target}")


def unmount(target: str) -> None:
    """Take a mount away, also while it is in use."""
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), f"unmount {target}")


def pivot_root(new: str, old: str) -> None:
    """Make a mount the root."""
    number = {"x86_64": 155, "aarch64": 41}[os.uname().machine]
    _check(_libc.syscall(number, os.fsencode(new), os.fsencode(old)), "pivot_root")


def unshare(flags: int) -> None:
    """Leave namespaces for new ones."""
    _check(_libc.unshare(flags), "unshare")


def enter(namespace: int, kind: int) -> None:
    """Enter the namespace of a descriptor."""
    _check(_libc.setns(namespace, kind), "setns")


def prctl(option: int, *arguments: int) -> None:
    """Change a setting of this process."""
    _check(_libc.prctl(option, *(ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4])), f"prctl {option}")


def set_dumpable(wanted: bool) -> None:
    """Whether other processes of the same user may look into this one."""
    prctl(_PR_SET_DUMPABLE, int(wanted))


def die_with_parent() -> None:
    """End when the parent ends."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of descendants whose parent has ended."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def forget_arguments() -> None:
    """Write another text over this process's arguments, which show paths of the machine."""
    with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
        values = file.read().rpartition(")")[2].split()
    start, end = int(values[45]), int(values[46])
    name = b"launcher"[: end - start - 1]
    ctypes.memmove(start, name.ljust(end - start, b"\0"), end - start)


def keep_nobody_from_rising() -> None:
    """Close every way in which this process or a child could get a capability by executing a file."""
    prctl(_PR_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL)
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as file:
        last = int(file.read())
    for capability in range(last + 1):
        prctl(_PR_CAPBSET_DROP, capability)
    prctl(_PR_SET_SECUREBITS, _SECURE)
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def install_filter(program: bytes) -> None:
    """Let a program of the packet filter decide on every later system call."""
    code = ctypes.create_string_buffer(program, len(program))
    filtered = _Program(len(program) // 8, ctypes.addressof(code))
    prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(filtered))


def limit(values: Mapping[str, int]) -> None:
    """Set resource limits, hard and soft, by the names of `resource` without their beginning."""
    for name, value in values.items():
        which = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))
