"""Memory that is freed is used again, in a process of its own: what it changes holds for the rest of a process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from simia_gym.rl.memory import keep_freed_memory

_PROGRAM = """
import resource, sys
from simia_gym.rl.memory import keep_freed_memory
print(keep_freed_memory() if sys.argv[1] == "kept" else False)
one = bytearray(b"x")
one * (64 << 20)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    one * (64 << 20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _faults(how: str) -> tuple[str, int]:
    """Whether anything was changed, and how many pages the system handed out."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM, how], capture_output=True, text=True, check=True)
    changed, faults = done.stdout.split()
    return changed, int(faults)


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is told")
def test_large_blocks_are_used_again() -> None:
    kept, few = _faults("kept")
    if kept == "False":
        pytest.skip("the memory of this system is not managed by glibc")
    plain, many = _faults("plain")
    assert plain == "False"
    assert many > 500
    assert few < many / 10


def test_elsewhere_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not keep_freed_memory()
