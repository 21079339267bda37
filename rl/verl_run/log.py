"""The files that a trainer of verl writes while it runs: its log and its metrics."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simia_gym.common.formatting import one_line

_ERROR = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception|Exit|Fault))(?:: (.*))?$")
_PREFIX = re.compile(r"\x1b\[[0-9;]*m|^\(\w+ pid=\d+(?:, ip=[\d.]+)?\) ?")


@dataclass
class Tail:
    """Reads a growing file line by line; it need not exist yet."""

    path: Path
    offset: int = 0

    def lines(self) -> Iterator[bytes]:
        """The complete lines that were added since the last call."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offset)
                data = file.read()
        except OSError:
            return
        whole = data.rfind(b"\n") + 1
        self.offset += whole
        yield from (line for line in data[:whole].split(b"\n") if line.strip())


def last_error(log: Path, offset: int, most: int = 400_000) -> str | None:
    """The last error message after ``offset`` bytes of a log, without its traceback; reads at most ``most`` bytes."""
    with log.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(offset, end - most))
        lines = file.read().decode("utf-8", "replace").splitlines()
    for line in reversed(lines):
        found = _ERROR.match(_PREFIX.sub("", _PREFIX.sub("", line)).strip())
        if found and found.group(1) not in ("KeyboardInterrupt", "SystemExit"):
            return one_line(found.group(0))
    return None
