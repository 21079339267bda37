"""What a sandbox may use, and where it may write."""

from __future__ import annotations

from dataclasses import dataclass, fields

from simia_gym.errors import InputError

MEGABYTE = 1 << 20
_NO_ROOTS = ("/bin", "/dev", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a sandbox; each is one of a command, of one of its processes, or of all roots together.

    Attributes:
        time: Seconds that a command may take. One that takes longer is stopped and changes nothing.
        output: Bytes that it may write to its output. One that writes more is stopped and changes nothing.
        disk: Bytes on the memory disk that holds the roots. Holes in files count as bytes once the command is over.
        inodes: Entries on that disk.
        memory: Bytes of address space of each process.
        processes: Processes at a time, the first one of the sandbox included.
        open_files: Descriptors of each process.
        file_size: Bytes of each file.
    """

    time: float = 10.0
    output: int = MEGABYTE
    disk: int = 64 * MEGABYTE
    inodes: int = 4096
    memory: int = 256 * MEGABYTE
    processes: int = 32
    open_files: int = 256
    file_size: int = 32 * MEGABYTE

    def __post_init__(self) -> None:
        """Refuse what is no limit."""
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise InputError(f"the limit {field.name} is {getattr(self, field.name)!r}", fix="Give more than 0.")
        if self.open_files < 16 or self.processes < 4 or self.inodes < 64:
            raise InputError("no shell starts with fewer than 16 open files, 4 processes and 64 inodes")


def check_roots(roots: tuple[str, ...]) -> None:
    """Refuse roots that overlap each other, or what a sandbox needs for itself.

    Raises:
        InputError: A root cannot be one.
    """
    for root in roots:
        parts = root.split("/")
        if not root.startswith("/") or root == "/" or any(part in {"", ".", ".."} for part in parts[1:]):
            raise InputError(f"the root {root!r} is no absolute path of a folder", fix="Write it like /home.")
        taken = [other for other in roots if other is not root] + list(_NO_ROOTS)
        for other in taken:
            if root == other or root.startswith(f"{other}/") or other.startswith(f"{root}/"):
                raise InputError(f"the root {root!r} overlaps {other!r}", fix="Give folders that stand side by side.")
