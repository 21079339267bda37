"""Runs the stages of a run as commands, one after the other; finished stages are skipped."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.learning.plan import Stage

_SIMIA = (sys.executable, "-m", "simia_gym")
_TIMES, _WORDS = "times.json", "words.json"
_ELSEWHERE = "--base-url"
"""The option before an endpoint's address, which differs in every start."""


def run_stages(stages: list[Stage], folder: Path) -> None:
    """Run the unfinished stages; write the seconds of each to ``times.json`` and its arguments to ``words.json``.

    Raises:
        RuntimeError: A command failed, or a stage was finished with other arguments; names its log or those arguments.
    """
    folder.mkdir(parents=True, exist_ok=True)
    times, said = read_times(folder), _read(folder / _WORDS)
    for stage in stages:
        wanted = _without_places(stage, folder)
        if stage.done.exists():
            if said.get(stage.name, wanted) != wanted:
                raise RuntimeError(
                    f"{stage.name} was finished with other arguments, `simia {' '.join(said[stage.name])}`; "
                    f"delete {folder}, or give another --runs"
                )
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
        _write(folder / _TIMES, times)
        if code != 0 or not stage.done.exists():
            raise RuntimeError(f"`simia {' '.join(stage.words)}` ended with {code}; see {log}")
        said[stage.name] = wanted
        _write(folder / _WORDS, said)
        print(f"{folder.name}: {stage.name} took {seconds:.0f} s", flush=True)


def read_times(folder: Path) -> dict[str, float]:
    """Seconds of the finished stages."""
    return _read(folder / _TIMES)


def _without_places(stage: Stage, folder: Path) -> list[str]:
    """A stage's arguments without folders and addresses, which do not affect its result."""
    addresses = {at + 1 for at, word in enumerate(stage.words) if word == _ELSEWHERE}
    return [
        "URL" if at in addresses else word.replace(str(folder.parent), "RUNS") for at, word in enumerate(stage.words)
    ]


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
