"""Freed memory is kept and given back, in a process of its own: what it changes holds for the rest of a process."""

from __future__ import annotations

import subprocess
import sys

import pytest

_HELD = """
from simia_gym.rl.memory import give_back_freed_memory, keep_freed_memory

def pages():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])

print(keep_freed_memory())
blocks = [bytearray(16 << 20) for _ in range(8)]
pin = bytearray(1000)  # above them, so that the heap's end cannot simply move down
full = pages()
del blocks
kept = pages()
give_back_freed_memory()
print(full, kept, pages())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is told")
def test_what_is_kept_can_be_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", _HELD], capture_output=True, text=True, check=True)
    changed, *counts = done.stdout.split()
    if changed == "False":
        pytest.skip("the memory of this system is not managed by glibc")
    full, kept, left = (int(count) * 4096 for count in counts)
    assert full - kept < 16 << 20, "what was freed was not kept"
    assert kept - left > 100 << 20
