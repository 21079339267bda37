"""Runs the stages of a run as a person would, one command after the other; what is done is not done again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.learning.plan import Stage

_SIMIA = (sys.executable, "-m", "simia_gym")


def run_stages(stages: list[Stage], folder: Path) -> None:
    """Run what is not done yet; the seconds of each stage go to ``times.json``.

    Raises:
        RuntimeError: A command failed; names it and its log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    times = read_times(folder)
    for stage in stages:
        if stage.done.exists():
            continue
        words = [*_SIMIA, *stage.words]
        if stage.begun is not None and stage.begun.exists():
            words.append("--resume")
        log = folder / f"{stage.name.replace(' ', '-')}.log"
        print(f"{folder.name}: {stage.name} ...", flush=True)
        began = time.monotonic()
        with log.open("ab") as out:
            code = subprocess.run(words, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
        seconds = time.monotonic() - began
        times[stage.name] = round(times.get(stage.name, 0.0) + seconds, 1)
        (folder / "times.json").write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")
        if code != 0 or not stage.done.exists():
            raise RuntimeError(f"`simia {' '.join(stage.words)}` ended with {code}; see {log}")
        print(f"{folder.name}: {stage.name} took {seconds:.0f} s", flush=True)


def read_times(folder: Path) -> dict[str, float]:
    """Seconds of the stages so far."""
    path = folder / "times.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found
