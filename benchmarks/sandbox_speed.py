"""Commands a second: a kept sandbox beside a fresh ``bwrap`` for each command, into which the tree is copied.

Both do the same work: lay out a tree of 30 files, run a command of bash, and read the tree again. CPU time is that of
all processes; it and the wall-clock time are means. The ways take turns, so that a busy machine is busy for both.

    python benchmarks/sandbox_speed.py [--commands 100] [--passes 5] [--at-once 16] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from simia_gym.sandbox import Entry, Sandbox, folder, new_shell
from simia_gym.sandbox.keeping import Keeper

TREE = {f"/root/d{i}": folder() for i in range(5)} | {
    f"/root/d{i % 5}/f{i}": Entry("file", 0o644, b"some text\n" * 50) for i in range(30)
}
COMMANDS = {"read": "cat d1/f1 | wc -l", "write": "echo more >> d2/f2"}
BWRAP = (
    *("bwrap", "--unshare-all", "--clearenv", "--die-with-parent", "--ro-bind", "/usr", "/usr"),
    *("--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"),
    *("--proc", "/proc", "--dev", "/dev", "--setenv", "PATH", "/usr/bin:/bin", "--chdir", "/root"),
)


def children(process: int) -> list[int]:
    """The children of a process."""
    found: list[int] = []
    for thread in os.listdir(f"/proc/{process}/task"):
        found += map(int, Path(f"/proc/{process}/task/{thread}/children").read_text().split())
    return found


def cpu(process: int) -> float:
    """CPU seconds of a process, of the children that it has waited for, and of those that live."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        return own + sum(map(cpu, children(process)))
    except OSError:  # it has just ended
        return 0.0


def timed(work: Callable[[], object], others: Callable[[], float]) -> tuple[float, float]:
    """Milliseconds of CPU and of the clock that some work takes."""
    before, began, own = others(), time.perf_counter(), time.process_time()
    work()
    return (time.process_time() - own + others() - before) * 1000, (time.perf_counter() - began) * 1000


def waited_for() -> float:
    """CPU seconds of the children that this process has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fresh(base: Path, script: str) -> dict[str, bytes]:
    """One command in a fresh ``bwrap``, on a copy of the tree; what is there afterwards."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        home = Path(place, "root")
        shutil.copytree(base, home)
        subprocess.run([*BWRAP, "--bind", str(home), "/root", "bash", "-c", script], capture_output=True, check=True)
        return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def measure(commands: int, passes: int) -> dict[str, Any]:
    """Milliseconds for each command."""
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place, Sandbox() as sandbox:
        base = Path(place, "base")
        for path, entry in TREE.items():
            target = base / path.removeprefix("/root/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.mkdir(exist_ok=True) if entry.kind == "dir" else target.write_bytes(entry.data)
        shell = sandbox.run("cd /root", new_shell()).shell

        def kept(script: str) -> None:
            for _ in range(commands):
                sandbox.put(TREE)
                sandbox.run(script, shell)
                sandbox.tree()

        def copied(script: str) -> None:
            for _ in range(commands):
                fresh(base, script)

        for _ in range(passes):
            for name, script in COMMANDS.items():
                inside = timed(partial(kept, script), lambda: cpu(Keeper.current().pid))
                found.setdefault(f"kept, {name}", []).append(inside)
                if shutil.which("bwrap"):
                    outside = timed(partial(copied, script), waited_for)
                    found.setdefault(f"fresh, {name}", []).append(outside)
    return {
        name: {
            "cpu_ms": round(statistics.median(used for used, _ in values) / commands, 2),
            "wall_ms": round(statistics.median(wall for _, wall in values) / commands, 2),
            "cpu_ms_of_passes": [round(used / commands, 2) for used, _ in values],
            "wall_ms_of_passes": [round(wall / commands, 2) for _, wall in values],
        }
        for name, values in found.items()
    }


def measure_new(number: int, at_once: int) -> dict[str, float]:
    """Milliseconds for each new sandbox with its first command, one after the other and several at once."""
    made: list[Sandbox] = []
    while children(Keeper.current().pid):  # those of earlier measurements end by and by
        time.sleep(0.01)

    def make(_: int) -> None:
        made.append(Sandbox())
        made[-1].run(":", new_shell())

    used, wall = timed(lambda: list(map(make, range(number))), lambda: cpu(Keeper.current().pid))
    with ThreadPoolExecutor(at_once) as pool:
        _, together = timed(lambda: list(pool.map(make, range(number))), lambda: 0.0)
    for sandbox in made:
        sandbox.close()
    return {
        "cpu_ms": round(used / number, 2),
        "wall_ms": round(wall / number, 2),
        "a_second_at_once": round(1000 * number / together, 1),
    }


def main() -> None:
    """Measure, print, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", type=int, default=100)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    Sandbox().close()
    result = {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
        "commands": measure(args.commands, args.passes),
        "new": measure_new(64, args.at_once),
    }
    text = json.dumps(result, indent=1)
    sys.stdout.write(text + "\n")
    if args.out is not None:
        args.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
