from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simia_gym.errors import SandboxUnavailable
from simia_gym.sandbox import Limits, Sandbox, working_way
from simia_gym.sandbox.keeping import Keeper

SMALL = Limits(time=30, output=200_000, disk=8 << 20, inodes=512, memory=128 << 20, processes=16, file_size=4 << 20)
ORDINARY = 1234
_AS_USER = ("setpriv", "--reuid", str(ORDINARY), "--regid", str(ORDINARY), "--clear-groups")


def why_not() -> str:
    try:
        working_way()
    except SandboxUnavailable as error:
        return str(error)
    return ""


needs_sandbox = pytest.mark.skipif(bool(why_not()), reason=why_not())


def python_for_an_ordinary_user(folder: Path) -> str | None:
    """A program that is Python for an ordinary user, when we are root."""
    room = Path(sys.modules[Keeper.__module__].__file__ or "")
    for python in (sys.executable, "/usr/bin/python3"):
        code = f"import sys; open({str(room)!r}); sys.exit(sys.version_info < (3, 11))"
        tried = subprocess.run([*_AS_USER, python, "-c", code], capture_output=True, check=False)
        if not tried.returncode:
            script = folder / "python"
            script.write_text(f'#!/bin/sh\nexec {shutil.which("setpriv")} {" ".join(_AS_USER[1:])} {python} "$@"\n')
            script.chmod(stat.S_IRWXU)
            return str(script)
    return None


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(SMALL) as made:
        yield made
