"""A tree of files as a plain mapping, in one deterministic order, and the same on the way to a sandbox and back.

This module runs inside of sandboxes, too: it needs the standard library alone.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["dir", "file", "link", "fifo", "socket"]
KINDS: dict[Kind, int] = {
    "dir": stat.S_IFDIR,
    "file": stat.S_IFREG,
    "link": stat.S_IFLNK,
    "fifo": stat.S_IFIFO,
    "socket": stat.S_IFSOCK,
}
TIME = 1_700_000_000  # when an entry that says nothing else was written
_INLINE = 128  # bytes from which on a link's target has a page of its own
_HEAD = struct.Struct("!II")


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands at one path.

    Attributes:
        kind: What it is. Hard links are files of their own, and there are no devices.
        mode: Its permissions, with the bits for set-user-id, set-group-id and sticky; of a link always 0o777.
        data: A file's bytes.
        target: A link's target, as it was written.
        time: When it was written, in whole seconds since 1970.
    """

    kind: Kind
    mode: int = 0o644
    data: bytes = b""
    target: str = ""
    time: int = TIME

    def __post_init__(self) -> None:
        """A link has the mode that the kernel shows for it."""
        if self.kind == "link":
            object.__setattr__(self, "mode", 0o777)


Tree = Mapping[str, Entry]
"""Entries by absolute path, sorted by its bytes. Those that are no UTF-8 are escaped as `os.fsdecode` does."""


def folder(mode: int = 0o755, time: int = TIME) -> Entry:
    """An entry for a directory."""
    return Entry("dir", mode, time=time)


def taken(kind: Kind | None, size: int) -> int:
    """The bytes that an entry takes on a memory disk: whole pages of a file, and one of a long link."""
    if kind == "file":
        return -(-size // 4096) * 4096
    return 4096 if kind == "link" and size >= _INLINE else 0


def in_order(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """The same entries, sorted by the bytes of their paths: a directory stands before what is in it."""
    return {path: entries[path] for path in sorted(entries, key=os.fsencode)}


def problem(tree: Tree, roots: Sequence[str]) -> str | None:
    """What prevents a tree from being laid out below some roots; ``None`` if nothing does."""
    for path, entry in tree.items():
        parts = path.split("/")
        if not path.startswith("/") or "\0" in path or any(part in {"", ".", ".."} for part in parts[1:]):
            return f"{path!r} is no absolute path without empty parts, '.', '..' and NUL"
        if path in roots:
            if entry.kind != "dir":
                return f"{path!r} is a root, and must be a directory"
        elif not any(path.startswith(f"{root}/") for root in roots):
            return f"{path!r} is outside of the writable roots {', '.join(roots)}"
        else:
            above = path.rpartition("/")[0]
            if above not in roots and (above not in tree or tree[above].kind != "dir"):
                return f"{path!r} lies in {above!r}, which is no directory of the tree"
        if entry.kind not in KINDS or entry.mode & ~0o7777:
            return f"{path!r} has the kind {entry.kind!r} and the mode {entry.mode:o}"
        if entry.kind == "link" and (not entry.target or "\0" in entry.target):
            return f"{path!r} is a link to nothing"
    return None


def pack(tree: Tree) -> tuple[list[list[Any]], bytes]:
    """A tree as JSON and the bytes of its files."""
    listed = [[path, e.kind, e.mode, e.time, e.target, len(e.data)] for path, e in tree.items()]
    return listed, b"".join(e.data for e in tree.values())


def unpack(listed: Iterable[Sequence[Any]], data: bytes) -> dict[str, Entry]:
    """The tree that `pack` has packed."""
    tree, at = {}, 0
    for path, kind, mode, time, target, size in listed:
        tree[path] = Entry(kind, mode, data[at : at + size], target, time)
        at += size
    return tree


def send(end: socket.socket, message: Mapping[str, Any], data: bytes = b"", fds: Sequence[int] = ()) -> None:
    """Send a message, with bytes and descriptors."""
    text = json.dumps(message).encode()
    head = _HEAD.pack(len(text), len(data))
    if fds:
        sent = socket.send_fds(end, [head], list(fds))
        head = head[sent:]
    end.sendall(head + text + data)


def receive(end: socket.socket, fds: list[int] | None = None) -> tuple[dict[str, Any], bytes]:
    """The next message, and its bytes.

    Args:
        end: Where it comes.
        fds: A list to which the descriptors are added that come with it.

    Raises:
        EOFError: There is no other: the other end was closed.
    """
    if fds is None:
        head = _exactly(end, _HEAD.size)
    else:
        head, found, _, _ = socket.recv_fds(end, _HEAD.size, 1, socket.MSG_WAITALL)
        for fd in found:
            os.set_inheritable(fd, False)
        fds += found
        head += _exactly(end, _HEAD.size - len(head)) if head else b""
        if not head:
            raise EOFError
    size, more = _HEAD.unpack(head)
    message: dict[str, Any] = json.loads(_exactly(end, size))
    return message, _exactly(end, more)


def _exactly(end: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        if not (part := end.recv(min(size - len(parts), 1 << 20))):
            raise EOFError
        parts += part
    return bytes(parts)
