"""Draws the files of a task: a project with what the task is about, and others beside it that must stay."""

from __future__ import annotations

import random
import struct
import tarfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from simia_gym.common.files import read_yaml
from simia_gym.sandbox import Entry, Tree, folder
from simia_gym.sandbox.entries import in_order
from simia_gym.state import make_pointer
from simia_gym.trees import row_of, time_text
from simia_gym.types import JsonObject, Split

WORDS: Mapping[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))


def words(name: str) -> list[str]:
    """Words of a sort."""
    found: str = WORDS[name]
    return found.split()


ROOTS = ("/root", "/srv", "/home")
FOLDERS, STEMS = words("folders"), words("stems")
NOTES: Sequence[str] = WORDS["notes"]
ENDS = (".txt", ".md", ".log", ".csv", ".dat", ".cfg")
_BEGIN = 1_680_000_000
_SECONDS = 30_000_000


class Drawn:
    """A task in the making.

    Attributes:
        rng: The source of its randomness.
        top: The folder of its project.
        values: The values of its sentence.
        tree: What stands there at the beginning.
        goal: What stands there at the end where it differs; ``None`` for what is gone.
        gold: Scripts that do the work. If the task wants an answer, the last one prints it.
    """

    def __init__(self, rng: random.Random, split: Split) -> None:
        self.rng = rng
        root, names = rng.choice(ROOTS), rng.sample(words(split), 2)
        self.top, beside = (f"{root}/{name}" for name in names)
        self.values: dict[str, str] = {}
        self.tree: dict[str, Entry] = {}
        self.goal: dict[str, Entry | None] = {}
        self.gold: list[str] = []
        self._used: set[str] = set()
        self._times: set[int] = set()
        self._scene(beside)

    def _scene(self, beside: str) -> None:
        """What no task is about: it must stay."""
        self.file(f"{self.top}/README", self.notes(2))
        for name, mode in (("cache.tmp", 0o644), ("server.key", 0o644), ("run.sh", 0o644), ("open.txt", 0o666)):
            self.file(f"{beside}/{name}", self.notes(1), mode)
        self.link(f"{beside}/current", "nowhere")
        self.folder(f"{beside}/empty")

    # What is drawn once, and never twice in a task.
    def fresh(self, words: Sequence[str], begin: str = "", end: str = "") -> str:
        """A word that the task has nowhere else, with what stands before and after it."""
        while True:
            text = f"{begin}{self.rng.choice(words)}{end}"
            if text not in self._used:
                self._used.add(text)
                return text

    def stem(self) -> str:
        """A name of a file, without an ending."""
        return self.fresh(STEMS)

    def code(self) -> str:
        """A text that no other file holds."""
        letters = "".join(self.rng.choice("BDFGHKLMNPRSTVXZ") for _ in range(2))
        return self.fresh(range(1000, 9999), begin=f"{letters}-")  # type: ignore[arg-type]

    def work(self) -> str:
        """A folder of the project for what the task is about."""
        path = f"{self.top}/{self.fresh(FOLDERS)}"
        self.folder(path)
        return path

    def notes(self, lines: int, *more: str) -> str:
        """Sentences, one a line, in any order."""
        return as_lines(self.rng.sample([*self.rng.choices(NOTES, k=lines), *more], lines + len(more)))

    def places(self, work: str, count: int, ends: Sequence[str] = ENDS, odd: bool = True) -> list[str]:
        """Paths for files in a folder and its subfolders, some of them hidden, some with a space in their name."""
        one, two, three = (self.fresh(FOLDERS) for _ in range(3))
        below = [work, f"{work}/{one}", f"{work}/{one}/{two}", f"{work}/{three}", f"{work}/.{two}"]
        found = []
        for number in range(count):
            name = self.fresh(STEMS) if number < 20 else self.fresh(STEMS, end=f"{number}")
            name = f"{self.rng.choice(('old', 'my'))} {name}" if odd and self.rng.random() < 0.1 else name
            name = f".{name}" if self.rng.random() < 0.08 else name
            found.append(f"{self.rng.choice(below)}/{name}{self.rng.choice(ends)}")
        return found

    # What stands there at the beginning.
    def _time(self) -> int:
        while (time := _BEGIN + self.rng.randrange(_SECONDS)) in self._times:
            pass
        self._times.add(time)
        return time

    def _put(self, path: str, entry: Entry) -> None:
        self.folder(path.rpartition("/")[0])
        self.tree[path] = entry

    def folder(self, path: str, mode: int = 0o755) -> None:
        """Put a folder, and those above it, unless it is there."""
        if path not in ROOTS and path not in self.tree:
            self._put(path, folder(mode, self._time()))

    def file(self, path: str, content: str | bytes, mode: int = 0o644) -> None:
        """Put a file."""
        data = content if isinstance(content, bytes) else content.encode()
        self._put(path, Entry("file", mode, data, time=self._time()))

    def link(self, path: str, target: str) -> None:
        """Put a symbolic link."""
        self._put(path, Entry("link", target=target, time=self._time()))

    # What stands there at the end.
    def want(self, path: str, content: str | bytes, mode: int = 0o644) -> None:
        """Want a file with a content at the end."""
        self.goal[path] = Entry("file", mode, content if isinstance(content, bytes) else content.encode())

    def want_mode(self, path: str, mode: int) -> None:
        """Want another mode of what stands there."""
        entry = self.tree[path]
        self.goal[path] = Entry(entry.kind, mode, entry.data, entry.target)

    def want_folder(self, path: str) -> None:
        """Want a new folder."""
        self.goal[path] = folder()

    def want_gone(self, *paths: str) -> None:
        """Want that something is gone."""
        self.goal |= dict.fromkeys(paths)

    def of_kind(self, kind: str, below: str) -> list[str]:
        """The paths below a folder at which something of a kind stands, in order."""
        return [
            path for path, entry in in_order(self.tree).items() if entry.kind == kind and path.startswith(f"{below}/")
        ]

    @property
    def setup(self) -> list[JsonObject]:
        """The operations that make the files."""
        tree = in_order(self.tree)
        made: list[JsonObject] = [_op("add", "files", path, row_of(entry)) for path, entry in tree.items()]
        return made + [
            _op("add", "times", path, {"time": time_text(entry.time), "fixed": True}) for path, entry in tree.items()
        ]

    @property
    def tests(self) -> list[JsonObject]:
        """The operations that test the goal."""
        return [
            _op("test", "files", path, None if entry is None else row_of(entry))
            for path, entry in sorted(self.goal.items())
        ]


def _op(op: str, table: str, path: str, value: Any) -> JsonObject:
    return {"op": op, "path": make_pointer(table, path), "value": value}


def as_lines(lines: Iterable[str]) -> str:
    """Lines as the text of a file."""
    return "".join(f"{line}\n" for line in lines)


def packed(tree: Tree) -> bytes:
    """A compressed tar archive of files and folders by their names inside; the same tree gives the same bytes.

    Nothing is really compressed, as different versions of a library would do it differently.
    """
    blocks = []
    for name, entry in tree.items():
        member = tarfile.TarInfo(name)
        member.type = tarfile.DIRTYPE if entry.kind == "dir" else tarfile.REGTYPE
        member.mode, member.mtime, member.size = entry.mode, entry.time, len(entry.data)
        blocks += [member.tobuf(tarfile.USTAR_FORMAT), entry.data, bytes(-len(entry.data) % 512)]
    return squeezed(b"".join(blocks) + bytes(1024))


def squeezed(data: bytes) -> bytes:
    """Data in the form of gzip, stored as they are: at most 65,535 bytes."""
    stored = struct.pack("<BHH", 1, len(data), len(data) ^ 0xFFFF) + data
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + stored + struct.pack("<II", zlib.crc32(data), len(data))
