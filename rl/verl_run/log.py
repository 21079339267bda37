"""The log of a trainer of verl."""

from __future__ import annotations

import os
import re
from pathlib import Path

from simia_gym.common.formatting import one_line

_ERROR = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception|Exit|Fault))(?:: (.*))?$")
_PREFIX = re.compile(r"\x1b\[[0-9;]*m|^\(\w+ pid=\d+(?:, ip=[\d.]+)?\) ?")


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
