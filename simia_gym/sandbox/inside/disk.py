"""The memory disk that holds the writable roots: laid out by one function, read without following a link."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from typing import Any

from simia_gym.sandbox.entries import KINDS, Entry, in_order, taken, unpack
from simia_gym.sandbox.inside import kernel
from simia_gym.sandbox.inside.mounts import SPOT

_LONGEST_PATH = 4000  # bytes; the kernel takes 4096 in one call
_CLOCK_REALTIME_COARSE = 5
_NAMES = {number: kind for kind, number in KINDS.items()}


class TooLarge(Exception):
    """The disk holds more than can be laid out again: holes count as bytes, and a path has at most 4,000 of them."""


class Disk:
    """The disk of a sandbox.

    Args:
        roots: Where its folders appear.
        size: Its bytes.
        inodes: How many entries it holds, the roots included.
    """

    def __init__(self, roots: Sequence[str], size: int, inodes: int) -> None:
        self.roots, self.size, self.inodes = roots, size, inodes
        self._mounted = False
        self._seen: dict[str, tuple[int, ...]] = {}
        self._newest = 0
        self._now: dict[str, os.stat_result] = {}

    def lay_out(self, listed: Sequence[Sequence[Any]], data: bytes) -> None:
        """Replace everything by a tree.

        Every layout is a new disk, filled in one order, so that what depends on history (order of entries, holes,
        numbers of inodes) is the same for the same tree.
        """
        tree = unpack(listed, data)
        if self._mounted:
            self._mounted = False
            for root in self.roots:
                kernel.unmount(root)
        options = f"mode=755,size={self.size},nr_inodes={self.inodes + 1}"
        flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOATIME
        kernel.mount("tmpfs", SPOT, "tmpfs", flags, options)
        try:
            self._fill(tree)
            for at, root in enumerate(self.roots):
                kernel.mount(f"{SPOT}/{at}", root, None, kernel.MS_BIND)
        finally:
            kernel.unmount(SPOT)
        self._mounted = True
        self._now = dict(self._walk())
        self._remember()

    def _fill(self, tree: dict[str, Entry]) -> None:
        place = {root: f"{SPOT}/{at}" for at, root in enumerate(self.roots)}
        for path in in_order(tree):
            if path not in place:
                above, _, name = path.rpartition("/")
                place[path] = f"{place[above]}/{name}"
        # The newest entry of a folder is listed first: made from the last to the first, they are listed in order.
        made = sorted(tree, key=os.fsencode, reverse=True)
        made.sort(key=lambda path: place[path].count("/"))
        for path in made:
            self._make(place[path], tree[path])
        for path in reversed(made):
            entry, target = tree[path], place[path]
            if entry.kind != "link":
                os.chmod(target, entry.mode)
            os.utime(target, (entry.time, entry.time), follow_symlinks=False)

    def _make(self, target: str, entry: Entry) -> None:
        if entry.kind == "dir":
            os.mkdir(target, 0o700)
        elif entry.kind == "link":
            os.symlink(entry.target, target)
        elif entry.kind == "file":
            fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                rest = memoryview(entry.data)
                while rest:
                    rest = rest[os.write(fd, rest) :]
            finally:
                os.close(fd)
        else:
            os.mknod(target, KINDS[entry.kind] | 0o600)

    def wait_for_a_tick(self) -> None:
        """Let the clock of files go on, so that what changes from now on gets a later time than what is there."""
        while time.clock_gettime_ns(_CLOCK_REALTIME_COARSE) <= self._newest:
            time.sleep(0.001)

    def survey(self) -> bool:
        """Whether anything has changed since it was laid out or surveyed; looks at everything, but into no file.

        Raises:
            TooLarge: There is more than `read` could give.
        """
        self._now, total = {}, 0
        for path, found in self._walk():
            self._now[path] = found
            total += taken(_NAMES.get(stat.S_IFMT(found.st_mode)), found.st_size)
            if total > self.size or len(self._now) > self.inodes or len(path) > _LONGEST_PATH:
                raise TooLarge
        before = self._seen
        self._remember()
        return self._seen != before

    def read(self) -> tuple[list[list[Any]], bytes]:
        """Everything that the last `survey` saw, as `pack` gives a tree."""
        listed: list[list[Any]] = []
        parts: list[bytes] = []
        for path in sorted(self._now, key=os.fsencode):
            found = self._now[path]
            kind = _NAMES.get(stat.S_IFMT(found.st_mode))
            if kind is None:
                continue
            data = self._content(path, found.st_size) if kind == "file" else b""
            target = os.readlink(path) if kind == "link" else ""
            mode = 0o777 if kind == "link" else stat.S_IMODE(found.st_mode)
            listed.append([path, kind, mode, found.st_mtime_ns // 1_000_000_000, target, len(data)])
            parts.append(data)
        return listed, b"".join(parts)

    def _remember(self) -> None:
        self._seen = {path: _signature(found) for path, found in self._now.items()}
        self._newest = max(signature[-1] for signature in self._seen.values())

    def _content(self, path: str, size: int) -> bytes:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            parts = []
            while size > 0 and (part := os.read(fd, size)):
                parts.append(part)
                size -= len(part)
            return b"".join(parts)
        finally:
            os.close(fd)

    def _walk(self) -> Iterator[tuple[str, os.stat_result]]:
        waiting = list(self.roots)
        for root in self.roots:
            yield root, os.lstat(root)
        while waiting:
            above = waiting.pop()
            if len(os.fsencode(above)) > _LONGEST_PATH:
                raise TooLarge
            with os.scandir(above) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(found.st_mode):
                        waiting.append(entry.path)
                    yield entry.path, found


def _signature(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
