"""Peak memory of `simia show` of one episode, and of a `--resume` that has nothing to do, with a long record.

Each figure is the largest resident memory of a process. Several builds are measured in one run, each on
a record that it has written itself; a record that is there is used again.

    python -m benchmarks.record_memory [--episodes 10000] [--build NAME=PYTHON ...] [--folder DIR] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_MAIN = "from simia_gym.cli import main; main()"
_MEASURE = """\
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


def peak_mb(command: Sequence[str]) -> float:
    """The largest resident memory of a command, in MB; the process that measures has no other child."""
    done = subprocess.run([sys.executable, "-c", _MEASURE, *command], check=True, capture_output=True, text=True)
    return round(float(done.stdout), 1)


def measure(python: str, record: Path, episodes: int) -> dict[str, float]:
    """Write the record of a build, if it is not there, and measure what the build does with it."""
    simia = [python, "-c", _MAIN]
    play = [*simia, "rollout", "simia/retail-v0", "--policy", "expert", "--split", "train", "--seed", "1"]
    play += ["--generated", str(episodes), "--episodes", str(episodes), "--out", str(record)]
    if not record.exists():
        subprocess.run(play, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return {
        "record_mb": round(record.stat().st_size / 2**20, 1),
        "help": peak_mb([*simia, "show", "--help"]),
        "show": peak_mb([*simia, "show", str(record)]),
        "resume": peak_mb([*play, "--resume"]),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each build and print the results as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--build", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    builds = dict(build.split("=", 1) for build in chosen.build) or {"this": sys.executable}
    with tempfile.TemporaryDirectory() as made:
        folder = chosen.folder or Path(made)
        peaks = {name: measure(python, folder / f"{name}.jsonl", chosen.episodes) for name, python in builds.items()}
    result: dict[str, Any] = {"python": platform.python_version(), "episodes": chosen.episodes, "peak_mb": peaks}
    text = json.dumps(result, indent=2)
    if chosen.out is not None:
        chosen.out.write_text(f"{text}\n")
    print(text)


if __name__ == "__main__":
    main()
