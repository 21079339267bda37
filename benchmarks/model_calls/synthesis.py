"""Played synthesis as a user gives it: `simia synth trajectories --way played` with models for policy and simulator."""

from __future__ import annotations

import contextlib
import gc
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.model_calls.measure import CLIENT_CORE, Meter, pin, report, settings
from benchmarks.model_calls.scripts import TURNS
from benchmarks.model_calls.workload import ENV, MODEL, POLICY
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.cli.app import run
from simia_gym.common.files import read_json
from simia_gym.synth.played import TasksOfKind
from simia_gym.types import Task

_ALL = 2_000_000_000


def tasks_of(target: int) -> list[Task]:
    """The tasks that a run with this target and one try plays."""
    suite = load_suite(EnvConfig(env=ENV, split="train", generated=_ALL, simulator="world"))
    tasks = TasksOfKind(suite)
    ids = [tasks.get(kind, number) for kind in tasks.kinds() for number in range(target)]
    return [suite.domain.find_task(name) for name in ids if name is not None]


def played(port: int, concurrency: int, target: int, folder: Path) -> dict[str, Any]:
    """Run the command; return its report."""
    address = f"http://127.0.0.1:{port}"
    words: list[object] = ["synth", "trajectories", ENV, "--way", "played", "--out", folder, "--near", 0, "--least", 0]
    words += ["--target", target, "--tries", 1, "--concurrency", concurrency, "--max-turns", TURNS, "--render", "model"]
    words += ["--simulator", "llm", "--model", MODEL, "--base-url", f"{address}/simulator/v1"]
    words += ["--policy", "llm", "--policy-model", POLICY, "--policy-base-url", f"{address}/policy/v1"]
    with contextlib.redirect_stdout(None):
        run([str(word) for word in words])
    found: dict[str, Any] = read_json(folder / "report.json")
    return found


def main(options: dict[str, Any]) -> None:
    """Measure the command, after a short warm-up that imports what it needs."""
    with tempfile.TemporaryDirectory() as folder:
        played(options["port"], 8, 1, Path(folder) / "warm")
        meter = Meter(options["concurrency"], options["mean_latency"])
        gc.collect()
        meter.begin()
        found = played(options["port"], options["concurrency"], options["target"], Path(folder) / "measured")
        if found["faults"]:
            raise RuntimeError(f"episodes ended with faults: {found['faults']}")
        facts = {"trajectories": found["drafts"], "kept": found["kept_in_all"], "dropped": found["dropped"]}
        report(meter.end(found["drafts"] * TURNS, versions={"simia-gym": version("simia-gym")}, **facts))


if __name__ == "__main__":
    pin(CLIENT_CORE)
    main(settings())
