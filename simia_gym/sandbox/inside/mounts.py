"""The file system that a sandbox sees: made of nothing, with what commands need of the machine's, read-only."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable

from simia_gym.sandbox.entries import TIME
from simia_gym.sandbox.inside import kernel

SPOT = "/run"  # where a new disk is mounted while it is filled
_PLACES = ("/tmp", "/mnt", "/srv", "/opt", "/var")
_PROGRAMS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_OF_ETC = ("alternatives", "ld.so.cache")
_NODES = ("null", "zero", "full", "random", "urandom")
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
_READ_ONLY = ("sys", "bus", "fs", "irq", "sysrq-trigger")
_HIDDEN = (
    *(
        "acpi",
        "asound",
        "cmdline",
        "config.gz",
        "driver",
        "dynamic_debug",
        "interrupts",
        "iomem",
        "ioports",
        "kallsyms",
    ),
    *("kcore", "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats", "modules"),
    *("mtrr", "partitions", "scsi", "sched_debug", "slabinfo", "softirqs", "swaps", "timer_list", "timer_stats", "tty"),
    "vmallocinfo",
)
_NAME = "sandbox"
_ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "hostname": f"{_NAME}\n",
    "hosts": f"127.0.0.1 localhost\n127.0.1.1 {_NAME}\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "shells": "/bin/sh\n/bin/bash\n",
}
_FLAGS = {"ro": kernel.MS_RDONLY, "nosuid": kernel.MS_NOSUID, "nodev": kernel.MS_NODEV, "noexec": kernel.MS_NOEXEC}
_TIMES = {"noatime": kernel.MS_NOATIME, "nodiratime": 2048, "relatime": 1 << 21}


def build(roots: Iterable[str]) -> None:
    """Make the root of this mount namespace a sandbox's own; no root can be written yet.

    The process is the first of a new process namespace, with every capability in its user namespace, and no mount is
    shared with the machine.
    """
    new = next(place for place in _PLACES if os.path.isdir(place))
    linked = {name: os.readlink(f"/{name}") for name in _PROGRAMS if os.path.islink(f"/{name}")}
    bound = [name for name in ("usr", *_PROGRAMS) if os.path.isdir(f"/{name}") and name not in linked]
    given = [f"etc/{name}" for name in _OF_ETC if os.path.exists(f"/etc/{name}")]
    release = os.path.realpath("/etc/os-release")
    kernel.mount("tmpfs", new, "tmpfs", kernel.MS_NOSUID | kernel.MS_NOATIME, "mode=755,size=1m,nr_inodes=512")
    for path in ("etc", "dev", "proc", SPOT[1:], *(root[1:] for root in roots)):
        os.makedirs(f"{new}/{path}", exist_ok=True)
    for name, target in linked.items():
        os.symlink(target, f"{new}/{name}")
    for name, text in _ETC.items():
        with open(f"{new}/etc/{name}", "w", encoding="ascii") as file:
            file.write(text)
    if release.startswith("/usr/"):
        os.symlink(release, f"{new}/etc/os-release")
    for path in (*bound, *given):
        place = f"{new}/{path}"
        os.makedirs(place) if os.path.isdir(f"/{path}") else _touch(place)
        kernel.mount(f"/{path}", place, None, kernel.MS_BIND | kernel.MS_REC)
        _make_read_only(place)
    for name in _NODES:
        _touch(f"{new}/dev/{name}")
        kernel.mount(f"/dev/{name}", f"{new}/dev/{name}", None, kernel.MS_BIND)
    for name, target in _LINKS.items():
        os.symlink(target, f"{new}/dev/{name}")
    for folder in (f"{new}/etc", f"{new}/dev", new):
        for name in os.listdir(folder):
            if not os.path.ismount(f"{folder}/{name}"):
                os.utime(f"{folder}/{name}", (TIME, TIME), follow_symlinks=False)
    os.utime(new, (TIME, TIME))
    _mount_proc(f"{new}/proc", f"{new}/dev/null", f"{new}{SPOT}")
    os.chdir(new)
    kernel.pivot_root(".", ".")
    kernel.unmount(".")
    os.chdir("/")
    kernel.mount(None, "/", None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | kernel.MS_NOSUID)
    socket.sethostname(_NAME)


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))


def _mount_proc(proc: str, nothing: str, empty: str) -> None:
    safe = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount("proc", proc, "proc", safe)
    for name in _READ_ONLY:
        if os.path.exists(path := f"{proc}/{name}"):
            kernel.mount(path, path, None, kernel.MS_BIND | kernel.MS_REC)
            kernel.mount(None, path, None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | safe)
    for name in _HIDDEN:
        if os.path.isdir(path := f"{proc}/{name}"):
            kernel.mount(empty, path, None, kernel.MS_BIND)
            kernel.mount(None, path, None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | safe)
        elif os.path.exists(path):
            kernel.mount(nothing, path, None, kernel.MS_BIND)


def _make_read_only(place: str) -> None:
    """Make a mount and all mounts below it read-only; other restrictions of each stay."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        lines = [line.split(" ") for line in file]
    for fields in lines:
        path = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), fields[4])
        if path == place or path.startswith(f"{place}/"):
            flags = kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV
            for option in fields[5].split(","):
                flags |= _FLAGS.get(option, 0) | _TIMES.get(option, 0)
            kernel.mount(None, path, None, kernel.MS_REMOUNT | kernel.MS_BIND | flags)
