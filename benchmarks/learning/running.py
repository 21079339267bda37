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
_TIMES, _WORDS = "times.json", "words.json"
_ELSEWHERE = "--base-url"
"""The word before an address, which is another one every time."""


def run_stages(stages: list[Stage], folder: Path) -> None:
    """Run what is not done yet; the seconds of each stage go to ``times.json``, and its words to ``words.json``.

    Raises:
        RuntimeError: A command failed, or a stage was done with other words; names it, and its log or those words.
    """
    folder.mkdir(parents=True, exist_ok=True)
    times, said = read_times(folder), _read(folder / _WORDS)
    for stage in stages:
        wanted = _without_places(stage, folder)
        if stage.done.exists():
            if said.get(stage.name, wanted) != wanted:
                raise RuntimeError(
                    f"{stage.name} was done with other words, `simia {' '.join(said[stage.name])}`; "
                    f"delete {folder}, or name another place with --runs"
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
    """Seconds of the stages so far."""
    return _read(folder / _TIMES)


def _without_places(stage: Stage, folder: Path) -> list[str]:
    """The words of a stage that make its result: where the runs lie and where an endpoint listens does not."""
    addresses = {at + 1 for at, word in enumerate(stage.words) if word == _ELSEWHERE}
    return [
        "URL" if at in addresses else word.replace(str(folder.parent), "RUNS") for at, word in enumerate(stage.words)
    ]


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
